WITH ended AS (
    UPDATE stay SET cancelled_at = $3 WHERE room_type = $1 AND n = ANY ($2::bigint[]) AND cancelled_at IS NULL
    RETURNING 1
)
SELECT exactly((SELECT count(*) FROM ended), cardinality($2))
