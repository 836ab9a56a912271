-- Only of a deleted event. Rows that another server is removing are left to it.
WITH gone AS (
    DELETE FROM answer WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM answer WHERE event = $1 AND EXISTS (SELECT FROM event WHERE id = $1 AND deleted)
        LIMIT $2 FOR UPDATE SKIP LOCKED
    )) RETURNING 1
) SELECT count(*) FROM gone
