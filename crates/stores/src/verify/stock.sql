-- Every seat up to the cursor has a row, and no row is outside the hall. The event's counts agree with its rows, and
-- its count of lapsed seats with the seats whose hold ended up to its mark. A deleted event has no sold seat, unless it
-- was a rehearsal; its other rows may already be removed.
SELECT 'event ' || CAST(e.id AS TEXT) || ' of ' || CAST(e.seat_count AS TEXT) || ' seats counts ' || CAST(e.sold AS TEXT)
       || ' sold, ' || CAST(e.held AS TEXT) || ' held, ' || CAST(e.came_back AS TEXT) || ' come back up to '
       || CAST(e."cursor" AS TEXT) || ', its rows say ' || CAST(coalesce(t.sold, 0) AS TEXT) || ', '
       || CAST(coalesce(t.held, 0) AS TEXT) || ', ' || CAST(coalesce(t.free, 0) AS TEXT) || ' with '
       || CAST(coalesce(t.below, 0) AS TEXT) || ' up to there; counts ' || CAST(e.lapsed AS TEXT) || ' lapsed of '
       || CAST(coalesce(t.lapsed, 0) AS TEXT)
FROM event e
LEFT JOIN (
    SELECT taken.event, max(taken.seat) AS top,
           sum(CASE WHEN taken.kind = 'sold' THEN 1 ELSE 0 END) AS sold,
           sum(CASE WHEN taken.kind = 'held' THEN 1 ELSE 0 END) AS held,
           sum(CASE WHEN taken.kind = 'held' AND (taken.ends_at, taken.seat) <= (own.counted_to, own.counted_place)
               THEN 1 ELSE 0 END) AS lapsed,
           sum(CASE WHEN taken.kind = 'free' THEN 1 ELSE 0 END) AS free,
           sum(CASE WHEN taken.seat <= own."cursor" THEN 1 ELSE 0 END) AS below
    FROM taken JOIN event own ON own.id = taken.event GROUP BY taken.event
) t ON t.event = e.id
WHERE (e.sold <> coalesce(t.sold, 0) AND NOT (e.deleted AND e.rehearsal))
   OR e.seat_count < coalesce(t.top, 0)
   OR (e.deleted AND e.sold > 0 AND NOT e.rehearsal)
   OR (NOT e.deleted AND (e.held <> coalesce(t.held, 0)
                          OR e.lapsed <> coalesce(t.lapsed, 0)
                          OR e.came_back <> coalesce(t.free, 0)
                          OR e."cursor" <> coalesce(t.below, 0)))
LIMIT 5
