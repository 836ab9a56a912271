-- Holds that ended without a sale. Rows that another server is removing are left to it.
WITH gone AS (
    DELETE FROM hold WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM hold
        WHERE state <> 'held' AND state <> 'confirmed' AND ended_at <= (SELECT ledger_now()) - $1
        ORDER BY ended_at LIMIT $2 FOR UPDATE SKIP LOCKED
    )) RETURNING 1
) SELECT count(*) FROM gone
