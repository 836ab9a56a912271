-- By differences: each row itself refuses to go below nothing or beyond its total. Found by a probe of
-- the key each.
WITH shifted AS (
    UPDATE night t
    SET reserved = t.reserved + s.reserved, held = t.held + s.held,
        total = CASE WHEN t.day >= $5 THEN $6 ELSE t.total END
    FROM unnest($2::integer[], $3::integer[], $4::integer[]) AS s (day, reserved, held)
    CROSS JOIN LATERAL (SELECT ctid FROM night WHERE room_type = $1 AND night.day = s.day OFFSET 0) AS place
    WHERE t.ctid = place.ctid
    RETURNING 1
)
SELECT exactly((SELECT count(*) FROM shifted), cardinality($2))
