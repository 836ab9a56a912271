-- The counts of a night are the number of its stays that are not cancelled, and of its holds in state held.
-- Their sum never exceeds the total. The query adds +1 at each check-in and -1 at each check-out, and sums
-- them over each calendar in one pass.
WITH turns AS (
    SELECT room_type, check_in AS day, count(*) AS stays, 0 AS holds FROM stay WHERE cancelled_at IS NULL GROUP BY room_type, check_in
    UNION ALL
    SELECT room_type, check_out, -count(*), 0 FROM stay WHERE cancelled_at IS NULL GROUP BY room_type, check_out
    UNION ALL
    SELECT -subject, check_in, 0, count(*) FROM hold WHERE state = 'held' AND subject < 0 GROUP BY subject, check_in
    UNION ALL
    SELECT -subject, check_out, 0, -count(*) FROM hold WHERE state = 'held' AND subject < 0 GROUP BY subject, check_out
    UNION ALL
    SELECT room_type, day, 0, 0 FROM night
), standing AS (
    SELECT room_type, day, sum(stays) OVER calendar AS stays, sum(holds) OVER calendar AS holds
    FROM (SELECT room_type, day, sum(stays) AS stays, sum(holds) AS holds FROM turns GROUP BY room_type, day) AS days
    WINDOW calendar AS (PARTITION BY room_type ORDER BY day)
)
SELECT 'room type ' || CAST(n.room_type AS TEXT) || ' day ' || CAST(n.day AS TEXT) || ' of ' || CAST(n.total AS TEXT)
       || ' rooms counts ' || CAST(n.reserved AS TEXT) || ' reserved and ' || CAST(n.held AS TEXT) || ' held, stand '
       || CAST(s.stays AS TEXT) || ' and ' || CAST(s.holds AS TEXT)
FROM standing s
JOIN night n ON n.room_type = s.room_type AND n.day = s.day
WHERE n.reserved <> s.stays OR n.held <> s.holds OR n.reserved < 0 OR n.held < 0 OR n.reserved + n.held > n.total
LIMIT 5
