-- The counts of a night are the number of its stays that are not cancelled, of its holds in state held, and of those
-- among them that have lapsed and are counted. Stays and holds never exceed the total. The query adds +1 at each
-- check-in and -1 at each check-out, and sums them over each calendar in one pass.
WITH standing_holds AS (
    SELECT r.id, h.check_in, h.check_out, (h.ends_at, h.n) <= (r.counted_to, r.counted_place) AS counted
    FROM hold h JOIN room_type r ON r.id = -h.subject
    WHERE h.state = 'held' AND h.subject < 0
), turns AS (
    SELECT room_type, check_in AS day, count(*) AS stays, 0 AS holds, 0 AS lapsed FROM stay WHERE cancelled_at IS NULL GROUP BY room_type, check_in
    UNION ALL
    SELECT room_type, check_out, -count(*), 0, 0 FROM stay WHERE cancelled_at IS NULL GROUP BY room_type, check_out
    UNION ALL
    SELECT id, check_in, 0, count(*), sum(CASE WHEN counted THEN 1 ELSE 0 END) FROM standing_holds GROUP BY id, check_in
    UNION ALL
    SELECT id, check_out, 0, -count(*), -sum(CASE WHEN counted THEN 1 ELSE 0 END) FROM standing_holds GROUP BY id, check_out
    UNION ALL
    SELECT room_type, day, 0, 0, 0 FROM night
), standing AS (
    SELECT room_type, day, sum(stays) OVER calendar AS stays, sum(holds) OVER calendar AS holds,
           sum(lapsed) OVER calendar AS lapsed
    FROM (
        SELECT room_type, day, sum(stays) AS stays, sum(holds) AS holds, sum(lapsed) AS lapsed
        FROM turns GROUP BY room_type, day
    ) AS days
    WINDOW calendar AS (PARTITION BY room_type ORDER BY day)
)
SELECT 'room type ' || CAST(n.room_type AS TEXT) || ' day ' || CAST(n.day AS TEXT) || ' of ' || CAST(n.total AS TEXT)
       || ' rooms counts ' || CAST(n.reserved AS TEXT) || ' reserved and ' || CAST(n.held AS TEXT) || ' held, stand '
       || CAST(s.stays AS TEXT) || ' and ' || CAST(s.holds AS TEXT) || '; counts ' || CAST(n.lapsed AS TEXT)
       || ' lapsed, have lapsed ' || CAST(s.lapsed AS TEXT)
FROM standing s
JOIN night n ON n.room_type = s.room_type AND n.day = s.day
WHERE n.reserved <> s.stays OR n.held <> s.holds OR n.lapsed <> s.lapsed OR n.reserved < 0 OR n.held < 0
   OR n.reserved + n.held > n.total
LIMIT 5
