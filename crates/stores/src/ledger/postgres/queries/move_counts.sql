-- The last write of a batch. The old number is the guard against a second writer.
WITH moved AS (
    UPDATE event
    SET n = $3, "cursor" = $4, sold = $5, changed_at = greatest(changed_at, $6),
        name = $7, max_per_user = $8, opens_at = $9, state = $10, deleted = $11
    WHERE id = $1 AND n = $2
    RETURNING 1
)
SELECT exactly((SELECT count(*) FROM moved), 1)
