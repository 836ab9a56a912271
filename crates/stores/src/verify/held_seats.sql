-- Every held seat belongs to a live hold with the same owner and the same end. Every live hold has all its seats: at
-- most ten, with consecutive history numbers. The rows of a deleted event may already be removed.
SELECT 'event ' || CAST(t.event AS TEXT) || ' seat ' || CAST(t.seat AS TEXT) || ' is on hold '
       || CAST(t.hold AS TEXT) || ', which is ' || coalesce(h.state, 'not there')
FROM taken t
JOIN event e ON e.id = t.event AND NOT e.deleted
LEFT JOIN hold h ON h.subject = t.event AND h.n = t.hold
WHERE t.kind = 'held' AND (h.n IS NULL OR h.state <> 'held' OR h.owner <> t.owner OR h.ends_at <> t.ends_at)
UNION ALL
SELECT 'event ' || CAST(h.subject AS TEXT) || ' hold ' || CAST(h.n AS TEXT) || ' has '
       || CAST(count(t.seat) AS TEXT) || ' of its seats'
FROM hold h
JOIN event e ON e.id = h.subject AND NOT e.deleted
JOIN history b ON b.event = h.subject AND b.n >= h.n AND b.n < h.n + 10 AND b.hold = h.n AND b.what = 'held'
LEFT JOIN taken t ON t.event = b.event AND t.seat = b.seat AND t.kind = 'held' AND t.hold = h.n
WHERE h.subject > 0 AND h.state = 'held'
GROUP BY h.subject, h.n
HAVING count(t.seat) <> count(*)
LIMIT 5
