-- The last write of a batch. The old number is the guard against a second writer.
WITH moved AS (
    UPDATE event
    SET n = $3, "cursor" = $4, sold = $5, held = $6, came_back = $7, changed_at = greatest(changed_at, $8),
        name = $9, max_per_user = $10, opens_at = $11, state = $12, deleted = $13
    WHERE id = $1 AND n = $2
    RETURNING 1
)
SELECT exactly((SELECT count(*) FROM moved), 1)
