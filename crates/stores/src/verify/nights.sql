-- What a night's row counts is what stands on that night: stays that were not cancelled, holds whose
-- row says held. Both together never more than the total. Counted by where they begin and end.
SELECT 'room type ' || CAST(t.room_type AS TEXT) || ' day ' || CAST(t.day AS TEXT) || ' of ' || CAST(t.total AS TEXT)
       || ' rooms counts ' || CAST(t.reserved AS TEXT) || ' reserved and ' || CAST(t.held AS TEXT) || ' held, stand '
       || CAST(t.stays AS TEXT) || ' and ' || CAST(t.holds AS TEXT)
FROM (
    SELECT n.room_type, n.day, n.total, n.reserved, n.held,
           coalesce((SELECT sum(s.delta) FROM (
               SELECT room_type, check_in AS day, count(*) AS delta FROM stay WHERE cancelled_at IS NULL GROUP BY room_type, check_in
               UNION ALL
               SELECT room_type, check_out, -count(*) FROM stay WHERE cancelled_at IS NULL GROUP BY room_type, check_out
           ) s WHERE s.room_type = n.room_type AND s.day <= n.day), 0) AS stays,
           coalesce((SELECT sum(h.delta) FROM (
               SELECT subject, check_in AS day, count(*) AS delta FROM hold WHERE state = 'held' GROUP BY subject, check_in
               UNION ALL
               SELECT subject, check_out, -count(*) FROM hold WHERE state = 'held' GROUP BY subject, check_out
           ) h WHERE h.subject = -n.room_type AND h.day <= n.day), 0) AS holds
    FROM night n
) t
WHERE t.reserved <> t.stays OR t.held <> t.holds OR t.reserved < 0 OR t.held < 0 OR t.reserved + t.held > t.total
LIMIT 5
