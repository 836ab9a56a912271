UPDATE stay SET cancelled_at = ?3 WHERE room_type = ?1 AND n = ?2 AND cancelled_at IS NULL
