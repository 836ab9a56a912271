-- Sets the total of each room type's nights from a given day on.
UPDATE night t SET total = a.total
FROM unnest($1::bigint[], $2::integer[], $3::integer[]) AS a (room_type, day, total)
CROSS JOIN LATERAL (
    SELECT ctid FROM night WHERE night.room_type = a.room_type AND night.day >= a.day AND night.total <> a.total OFFSET 0
) AS place
WHERE t.ctid = place.ctid
