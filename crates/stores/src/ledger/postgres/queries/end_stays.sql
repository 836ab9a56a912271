WITH ended AS (
    UPDATE stay t SET cancelled_at = $3
    FROM unnest($2::bigint[]) AS asked (n)
    CROSS JOIN LATERAL (SELECT ctid FROM stay WHERE room_type = $1 AND stay.n = asked.n OFFSET 0) AS place
    WHERE t.ctid = place.ctid AND t.cancelled_at IS NULL
    RETURNING 1
)
SELECT exactly((SELECT count(*) FROM ended), cardinality($2))
