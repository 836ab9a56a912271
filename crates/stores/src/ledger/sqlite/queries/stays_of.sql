SELECT n, owner, check_in, check_out, hold, at, room_type, metadata
FROM stay INDEXED BY stay_owner
WHERE owner = ?1 AND cancelled_at IS NULL AND (room_type, n) > (?2, ?3) ORDER BY room_type, n LIMIT ?4
