-- The metadata of sales, holds and stays is equal to that in the history row of their beginning, byte for byte. If that
-- row was erased, holds and stays have none; sales lose theirs at the end of an erasure.
SELECT 'event ' || CAST(t.event AS TEXT) || ' seat ' || CAST(t.seat AS TEXT) || ' has other metadata than row '
       || CAST(t.n AS TEXT)
FROM taken t
JOIN history h ON h.event = t.event AND h.n = t.n
WHERE t.kind = 'sold' AND h.erased IS NULL
  AND coalesce(h.details, '') <> coalesce('{"metadata":' || t.metadata || '}', '')
UNION ALL
SELECT 'hold ' || CAST(o.n AS TEXT) || ' of ' || CAST(o.subject AS TEXT) || ' has other metadata than the row of its beginning'
FROM hold o
JOIN history h ON h.event = o.subject AND h.n = o.n
WHERE (h.erased IS NULL AND coalesce(h.details, '') <> coalesce('{"metadata":' || o.metadata || '}', ''))
   OR (h.erased IS NOT NULL AND o.metadata IS NOT NULL)
UNION ALL
SELECT 'room type ' || CAST(s.room_type AS TEXT) || ' stay ' || CAST(s.n AS TEXT) || ' has other metadata than its row'
FROM stay s
JOIN history h ON h.event = -s.room_type AND h.n = s.n
WHERE (h.erased IS NULL AND coalesce(h.details, '') <> coalesce('{"metadata":' || s.metadata || '}', ''))
   OR (h.erased IS NOT NULL AND s.metadata IS NOT NULL)
LIMIT 5
