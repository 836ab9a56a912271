-- Holds that were given back, with the details of the history row that says why: of several seats, the first row has
-- them. Erasing that row, or the row of the beginning, removes the reason. The details are JSON with text of callers in
-- it and are compared outside: PostgreSQL refuses to read some of what JSON can say (\u0000), and then answers nothing
-- at all. Where neither side has a reason there is nothing to compare.
SELECT o.subject, o.n, o.reason, r.details
FROM hold o
JOIN history h ON h.event = o.subject AND h.n = o.n
JOIN (
    SELECT event, hold, max(details) AS details, count(erased) AS erased
    FROM history WHERE what = 'released' GROUP BY event, hold
) r ON r.event = o.subject AND r.hold = o.n
WHERE o.state = 'cancelled' AND h.erased IS NULL AND r.erased = 0
  AND (o.reason IS NOT NULL OR r.details LIKE '%"reason":%')
