UPDATE stay t SET metadata = NULL
FROM unnest($2::bigint[]) AS asked (n)
CROSS JOIN LATERAL (
    SELECT ctid FROM stay WHERE stay.room_type = $1 AND stay.n >= asked.n AND stay.n <= asked.n
    ORDER BY stay.n OFFSET 0
) AS place
WHERE t.ctid = place.ctid AND t.metadata IS NOT NULL
