-- The reason of a hold that was given back is the one in the history. Erasing the row of its beginning removes it.
SELECT 'hold ' || CAST(o.n AS TEXT) || ' of ' || CAST(o.subject AS TEXT) || ' was given back for another reason'
FROM hold o
JOIN history h ON h.event = o.subject AND h.n = o.n
JOIN (
    SELECT event, hold, max(json_extract(details, '$.reason')) AS reason, count(erased) AS erased
    FROM history WHERE what = 'released' GROUP BY event, hold
) r ON r.event = o.subject AND r.hold = o.n
WHERE o.state = 'cancelled' AND h.erased IS NULL AND r.erased = 0 AND coalesce(o.reason, '') <> coalesce(r.reason, '')
LIMIT 5
