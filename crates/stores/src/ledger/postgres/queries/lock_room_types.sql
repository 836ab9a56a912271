-- The locks of a batch over several room types, and its first statement. A row that somebody else has
-- is left out, so nobody waits here, neither for it nor for those who wait for it; who was left out
-- goes alone. Nothing else is read here, as in lock_room_type.
SELECT id, name, description, price, time_zone, total, created_at, n, changed_at
FROM room_type WHERE id = ANY ($1::bigint[]) FOR NO KEY UPDATE SKIP LOCKED
