-- Every seat up to the cursor has a row, none beyond it; the counts of the event are those of its rows.
SELECT 'event ' || CAST(e.id AS TEXT) || ' of ' || CAST(e.seat_count AS TEXT) || ' seats counts ' || CAST(e.sold AS TEXT)
       || ' sold up to ' || CAST(e."cursor" AS TEXT) || ', its rows say ' || CAST(coalesce(t.sold, 0) AS TEXT)
       || ' of ' || CAST(coalesce(t.seats, 0) AS TEXT)
FROM event e
LEFT JOIN (
    SELECT event, count(*) AS seats, sum(CASE WHEN kind = 'sold' THEN 1 ELSE 0 END) AS sold, max(seat) AS top
    FROM taken GROUP BY event
) t ON t.event = e.id
WHERE e.sold <> coalesce(t.sold, 0)
   OR e."cursor" <> coalesce(t.seats, 0)
   OR e."cursor" <> coalesce(t.top, 0)
   OR e."cursor" > e.seat_count
LIMIT 5
