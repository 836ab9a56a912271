-- The order forces the primary key: see holds_needed.
WITH ended AS (
    UPDATE stay t SET cancelled_at = asked.at
    FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS asked (room_type, n, at)
    CROSS JOIN LATERAL (
        SELECT ctid FROM stay WHERE stay.room_type = asked.room_type AND stay.n >= asked.n AND stay.n <= asked.n
        ORDER BY stay.n OFFSET 0
    ) AS place
    WHERE t.ctid = place.ctid AND t.cancelled_at IS NULL
    RETURNING 1
)
SELECT exactly((SELECT count(*) FROM ended), cardinality($2))
