-- Holds that were given back, with the details of the history row that records the reason: for several seats, the first
-- row. If that row or the row of the beginning is erased, the reason is removed. The details are JSON that callers
-- wrote, and are compared outside the database: PostgreSQL rejects some valid JSON (\u0000), and then fails the whole
-- query. If neither side has a reason there is nothing to compare.
SELECT o.subject, o.n, o.reason, r.details
FROM hold o
JOIN history h ON h.event = o.subject AND h.n = o.n
JOIN (
    SELECT event, hold, max(details) AS details, count(erased) AS erased
    FROM history WHERE what = 'released' GROUP BY event, hold
) r ON r.event = o.subject AND r.hold = o.n
WHERE o.state = 'cancelled' AND h.erased IS NULL AND r.erased = 0
  AND (o.reason IS NOT NULL OR r.details LIKE '%"reason":%')
