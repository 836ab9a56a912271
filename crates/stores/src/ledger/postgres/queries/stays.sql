-- Stays that are not cancelled, by room type and history number: one probe of the primary key each, which the order
-- enforces, see holds_needed.
SELECT s.n, s.owner, s.check_in, s.check_out, s.hold, s.at, s.room_type, s.metadata
FROM unnest($1::bigint[], $2::bigint[]) AS asked (room_type, n)
CROSS JOIN LATERAL (
    SELECT * FROM stay WHERE stay.room_type = asked.room_type AND stay.n >= asked.n AND stay.n <= asked.n
    ORDER BY stay.n OFFSET 0
) AS s
WHERE s.cancelled_at IS NULL
