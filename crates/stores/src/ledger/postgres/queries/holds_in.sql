-- The stored holds of a subject, in any state, by the primary key. Every row has the current time, even if there is no
-- hold.
WITH now AS MATERIALIZED (SELECT ledger_now() AS ms)
SELECT subject, n, owner, key, stock, first_at, at, ends_at, state, ended_at, reserved, metadata, reason, now.ms
FROM now LEFT JOIN LATERAL (
    SELECT * FROM hold WHERE subject = $1 AND n > $2 AND state <> 'replaced' ORDER BY n LIMIT $3
) AS kept ON true
