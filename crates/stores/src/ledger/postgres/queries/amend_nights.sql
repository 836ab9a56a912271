-- Sets the total of nights: one probe of the primary key each.
WITH amended AS (
    UPDATE night t SET total = a.total
    FROM unnest($1::bigint[], $2::integer[], $3::integer[]) AS a (room_type, day, total)
    CROSS JOIN LATERAL (
        SELECT ctid FROM night WHERE night.room_type = a.room_type AND night.day = a.day OFFSET 0
    ) AS place
    WHERE t.ctid = place.ctid
    RETURNING 1
)
SELECT exactly((SELECT count(*) FROM amended), cardinality($2))
