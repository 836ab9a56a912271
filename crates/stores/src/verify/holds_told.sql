-- Every hold agrees with the history row of its beginning in owner and, for nights, in dates. User ids are not erased,
-- so they are compared for every hold.
SELECT 'hold ' || CAST(o.n AS TEXT) || ' of ' || CAST(o.subject AS TEXT) || ' is not what the history says of its beginning'
FROM hold o
LEFT JOIN history h ON h.event = o.subject AND h.n = o.n AND h.what = 'held' AND h.hold = o.n AND h.owner = o.owner
    AND h.check_in IS NOT DISTINCT FROM o.check_in AND h.check_out IS NOT DISTINCT FROM o.check_out
WHERE h.n IS NULL
LIMIT 5
