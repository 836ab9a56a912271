-- Whether an answer is still valid depends on its age, not on this. Rows that another server is removing are
-- left to it.
WITH gone AS (
    DELETE FROM answer WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM answer WHERE at <= (SELECT ledger_now()) - $1 ORDER BY at LIMIT $2 FOR UPDATE SKIP LOCKED
    )) RETURNING 1
) SELECT count(*) FROM gone
