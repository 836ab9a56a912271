-- The last write of a batch. The old number is the guard against a second writer: with another one the new
-- number would be null, which its column refuses. The row is there, because this transaction locked it.
-- Closing an event ends the tickets of older keys in it.
UPDATE event
SET n = CASE WHEN n = $2 THEN $3::bigint END, "cursor" = $4, sold = $5, held = $6, came_back = $7, inside = $8,
    changed_at = greatest(changed_at, $9),
    name = $10, max_per_user = $11, opens_at = $12, state = $13, deleted = $14,
    room_most = $15, room_ttl_ms = $16, room_max_age_ms = $17, room_idle_ms = $18, hold_ttl = $19,
    oldest_key = CASE WHEN $13 = 'closed' AND state <> 'closed'
                      THEN coalesce((SELECT max(id) FROM ticket_key), 0) ELSE oldest_key END
WHERE id = $1
