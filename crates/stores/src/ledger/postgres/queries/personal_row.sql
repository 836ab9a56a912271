-- The fields of history rows that may be personal, and the holds of these rows. Without a salt the fields are empty or
-- erased.
SELECT h.event, h.n, h.address, h.details, h.salt, h.hold
FROM unnest($1::bigint[], $2::bigint[]) AS asked (subject, n)
CROSS JOIN LATERAL (SELECT * FROM history WHERE event = asked.subject AND history.n = asked.n OFFSET 0) AS h
