SELECT n, owner, check_in, check_out, hold, at, room_type
FROM stay WHERE room_type = $1 AND n = ANY ($2::bigint[]) AND cancelled_at IS NULL
