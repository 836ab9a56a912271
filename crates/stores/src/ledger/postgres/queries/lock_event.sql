-- The one lock of a batch, and its first statement. NO KEY: nothing references the event by key,
-- and readers are not to wait. Nothing else is read here: whatever else is counted in this
-- statement would be counted in the snapshot from before the wait.
SELECT id, name, max_per_user, opens_at, state, deleted, created_at, n, "cursor", sold, held, came_back, changed_at, hold_ttl
FROM event WHERE id = $1 FOR NO KEY UPDATE
