-- Stays that stand, by number: one probe of the key each.
SELECT s.n, s.owner, s.check_in, s.check_out, s.hold, s.at, s.room_type
FROM unnest($2::bigint[]) AS asked (n)
CROSS JOIN LATERAL (SELECT * FROM stay WHERE room_type = $1 AND stay.n = asked.n OFFSET 0) AS s
WHERE s.cancelled_at IS NULL
