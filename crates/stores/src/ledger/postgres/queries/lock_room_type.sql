-- Takes the row lock of a batch, as its first statement. The statement reads nothing else: other rows would come from
-- the snapshot before the wait for the lock.
SELECT id, name, description, price, time_zone, total, created_at, n, changed_at, counted_to, counted_place,
       currency, head
FROM room_type WHERE id = $1 FOR NO KEY UPDATE
