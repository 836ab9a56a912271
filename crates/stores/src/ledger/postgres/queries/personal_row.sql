-- What may be personal in rows of history, and the holds that they are about. Without a salt there is nothing, or
-- nothing any more.
SELECT h.event, h.n, h.address, h.details, h.salt, h.hold
FROM unnest($1::bigint[], $2::bigint[]) AS asked (subject, n)
JOIN history h ON h.event = asked.subject AND h.n = asked.n
