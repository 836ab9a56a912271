-- One user's live holds in all subjects: hold_owner starts with the owner, and so does the order, see holds_needed.
-- Every row has the current time, even if there is no hold.
WITH now AS MATERIALIZED (SELECT ledger_now() AS ms)
SELECT subject, n, owner, key, stock, first_at, at, ends_at, state, ended_at, reserved, metadata, reason, now.ms
FROM now LEFT JOIN LATERAL (
    SELECT * FROM hold
    WHERE owner >= $1 AND owner <= $1 AND state = 'held' AND ends_at > now.ms
      AND NOT EXISTS (SELECT FROM event e WHERE e.id = hold.subject AND e.deleted) AND (subject, n) > ($2::bigint, $3::bigint)
    ORDER BY owner, subject, n LIMIT $4
) AS mine ON true
