-- Takes the row locks of a transaction over several room types, as its first statement. SKIP LOCKED leaves out rows
-- that another transaction has locked, so it never waits and cannot deadlock. A room type that was left out runs alone.
-- The statement reads nothing else, as in lock_room_type.
SELECT id, name, description, price, time_zone, total, created_at, n, changed_at, counted_to, counted_place,
       currency, head
FROM room_type WHERE id = ANY ($1::bigint[]) FOR NO KEY UPDATE SKIP LOCKED
