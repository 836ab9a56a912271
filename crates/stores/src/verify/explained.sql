-- A seat with one more sale than cancellations is sold. With equal counts it is not. For a deleted event the rows of
-- free seats may be removed, for a deleted rehearsal all rows.
SELECT 'event ' || CAST(h.event AS TEXT) || ' seat ' || CAST(h.seat AS TEXT) || ' was sold '
       || CAST(h.sold AS TEXT) || ' times and given back ' || CAST(h.back AS TEXT) || ' times, and is '
       || coalesce(t.kind, 'not there')
FROM (
    SELECT event, seat, sum(CASE WHEN what = 'reserved' THEN 1 ELSE 0 END) AS sold,
           sum(CASE WHEN what = 'cancelled' THEN 1 ELSE 0 END) AS back
    FROM history WHERE seat IS NOT NULL GROUP BY event, seat
) h
LEFT JOIN taken t ON t.event = h.event AND t.seat = h.seat
WHERE (h.sold - h.back <> CASE WHEN t.kind = 'sold' THEN 1 ELSE 0 END
       AND NOT (t.kind IS NULL AND EXISTS (SELECT 1 FROM event e WHERE e.id = h.event AND e.deleted AND e.rehearsal)))
   OR (t.kind IS NULL AND NOT EXISTS (SELECT 1 FROM event e WHERE e.id = h.event AND e.deleted))
LIMIT 5
