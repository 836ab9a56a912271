-- Subjects with holds that end by then and are not marked expired yet. The recursion jumps from subject to subject in
-- the index, so its cost does not depend on the number of holds.
WITH RECURSIVE holding AS (
    (SELECT subject FROM hold WHERE state = 'held' ORDER BY subject, ends_at, n LIMIT 1)
    UNION ALL
    SELECT next.subject
    FROM holding
    CROSS JOIN LATERAL (
        SELECT subject FROM hold WHERE state = 'held' AND hold.subject > holding.subject
        ORDER BY subject, ends_at, n LIMIT 1
    ) AS next
)
SELECT holding.subject
FROM holding
CROSS JOIN LATERAL (
    SELECT ends_at FROM hold WHERE hold.subject = holding.subject AND state = 'held' ORDER BY ends_at, n LIMIT 1
) AS first
WHERE first.ends_at <= (SELECT ledger_now()) + $1::bigint
LIMIT $2
