UPDATE stay SET metadata = NULL WHERE room_type = ?1 AND n = ?2 AND metadata IS NOT NULL
