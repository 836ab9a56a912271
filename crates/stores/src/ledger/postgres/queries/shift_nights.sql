-- By differences: each row itself refuses to go below nothing or beyond its total.
WITH shifted AS (
    UPDATE night t
    SET reserved = t.reserved + s.reserved, held = t.held + s.held,
        total = CASE WHEN t.day >= $5 THEN $6 ELSE t.total END
    FROM unnest($2::integer[], $3::integer[], $4::integer[]) AS s (day, reserved, held)
    WHERE t.room_type = $1 AND t.day = s.day
    RETURNING 1
)
SELECT exactly((SELECT count(*) FROM shifted), cardinality($2))
