-- What may be personal in rows of history, and the holds that they are about. Without a salt there is nothing, or
-- nothing any more.
SELECT h.event, h.n, h.address, h.details, h.salt, h.hold
FROM unnest($1::bigint[], $2::bigint[]) AS asked (subject, n)
CROSS JOIN LATERAL (SELECT * FROM history WHERE event = asked.subject AND history.n = asked.n OFFSET 0) AS h
