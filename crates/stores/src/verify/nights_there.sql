-- No night of a stay or hold lacks a row: the nights of all stays and holds add up to the counts of the rows.
SELECT 'room type ' || CAST(r.id AS TEXT) || ' has ' || CAST(r.counted AS TEXT) || ' nights in its rows and '
       || CAST(r.standing AS TEXT) || ' in its stays and holds'
FROM (
    SELECT room_type.id,
           coalesce((SELECT sum(reserved + held) FROM night WHERE night.room_type = room_type.id), 0) AS counted,
           coalesce((SELECT sum(check_out - check_in) FROM stay WHERE stay.room_type = room_type.id AND cancelled_at IS NULL), 0)
           + coalesce((SELECT sum(check_out - check_in) FROM hold WHERE subject = -room_type.id AND state = 'held'), 0) AS standing
    FROM room_type
) r
WHERE r.counted <> r.standing
LIMIT 5
