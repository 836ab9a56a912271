-- The history of every hold agrees with its state: it starts once and ends at most once. There is one row per
-- seat, or one for a stay.
SELECT 'hold ' || CAST(h.n AS TEXT) || ' of ' || CAST(h.subject AS TEXT) || ' is ' || h.state || ', began '
       || CAST(coalesce(t.begun, 0) AS TEXT) || ' times and ended ' || CAST(coalesce(t.ended, 0) AS TEXT) || ' times'
FROM hold h
LEFT JOIN (
    SELECT event, hold, min(n) AS first,
           sum(CASE WHEN what = 'held' THEN 1 ELSE 0 END) AS begun,
           sum(CASE WHEN what IN ('reserved', 'released', 'expired', 'replaced') THEN 1 ELSE 0 END) AS ended,
           sum(CASE WHEN what = 'reserved' THEN 1 ELSE 0 END) AS confirmed,
           sum(CASE WHEN what = 'released' THEN 1 ELSE 0 END) AS released,
           sum(CASE WHEN what = 'expired' THEN 1 ELSE 0 END) AS expired,
           sum(CASE WHEN what = 'replaced' THEN 1 ELSE 0 END) AS replaced
    FROM history WHERE hold IS NOT NULL GROUP BY event, hold
) t ON t.event = h.subject AND t.hold = h.n
WHERE coalesce(t.begun, 0) = 0
   OR t.first <> h.n
   OR t.ended <> CASE WHEN h.state = 'held' THEN 0 ELSE t.begun END
   OR (h.state = 'confirmed' AND t.confirmed <> t.begun)
   OR (h.state = 'cancelled' AND t.released <> t.begun)
   OR (h.state = 'expired' AND t.expired <> t.begun)
   OR (h.state = 'replaced' AND t.replaced <> t.begun)
LIMIT 5
