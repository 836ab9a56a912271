-- The one lock of a batch, and its first statement. Nothing else is read here: whatever else is
-- counted in this statement would be counted in the snapshot from before the wait.
SELECT id, name, description, price, time_zone, total, created_at, n, changed_at FROM room_type WHERE id = $1 FOR NO KEY UPDATE
