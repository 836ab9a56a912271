-- The history of every hold agrees with its state: it starts once and ends at most once. There is one row per seat, or
-- one for a stay. A hold that ended without a sale may be removed, and so may every hold of a deleted event; a live or
-- confirmed hold exists. Another query finds holds without a history row.
SELECT 'hold ' || CAST(t.hold AS TEXT) || ' of ' || CAST(t.event AS TEXT) || ' is ' || coalesce(h.state, 'not there')
       || ', began ' || CAST(t.begun AS TEXT) || ' times and ended ' || CAST(t.ended AS TEXT) || ' times'
FROM (
    SELECT event, hold, min(n) AS first,
           sum(CASE WHEN what = 'held' THEN 1 ELSE 0 END) AS begun,
           sum(CASE WHEN what IN ('reserved', 'released', 'expired', 'replaced') THEN 1 ELSE 0 END) AS ended,
           sum(CASE WHEN what = 'reserved' THEN 1 ELSE 0 END) AS confirmed,
           sum(CASE WHEN what = 'released' THEN 1 ELSE 0 END) AS released,
           sum(CASE WHEN what = 'expired' THEN 1 ELSE 0 END) AS expired,
           sum(CASE WHEN what = 'replaced' THEN 1 ELSE 0 END) AS replaced
    FROM history WHERE hold IS NOT NULL GROUP BY event, hold
) t
LEFT JOIN hold h ON h.subject = t.event AND h.n = t.hold
WHERE (h.n IS NULL AND t.begun > t.released + t.expired + t.replaced
       AND NOT EXISTS (SELECT 1 FROM event e WHERE e.id = t.event AND e.deleted))
   OR (h.n IS NOT NULL
       AND (t.begun = 0
            OR t.first <> h.n
            OR t.ended <> CASE WHEN h.state = 'held' THEN 0 ELSE t.begun END
            OR (h.state = 'confirmed' AND t.confirmed <> t.begun)
            OR (h.state = 'cancelled' AND t.released <> t.begun)
            OR (h.state = 'expired' AND t.expired <> t.begun)
            OR (h.state = 'replaced' AND t.replaced <> t.begun)))
LIMIT 5
