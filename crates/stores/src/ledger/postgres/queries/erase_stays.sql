UPDATE stay SET metadata = NULL WHERE room_type = $1 AND n = ANY ($2::bigint[]) AND metadata IS NOT NULL
