SELECT n, owner, check_in, check_out, hold, at, room_type, metadata
FROM stay WHERE room_type = $1 AND n > $2 AND cancelled_at IS NULL ORDER BY n LIMIT $3
