-- Every hold that a batch of an event needs; a hold may occur twice. By history number; by seat; by owner; by client
-- key and seats; by owner and seats, given back lately; and expired holds, oldest first, up to a limit. Each is an
-- index probe, because for arrays the planner may read all holds of the event. `+ 0` and the order leave only the
-- index on the owner, or on the key, to use: see holds_needed. The current time comes from a subquery, because
-- PostgreSQL does not use a volatile function as an index condition.
WITH now AS MATERIALIZED (SELECT greatest(ledger_now(), (SELECT changed_at FROM event WHERE id = $1)) AS ms)
SELECT f.subject, f.n, f.owner, f.key, f.stock, f.first_at, f.at, f.ends_at, f.state, f.ended_at, f.reserved, f.metadata, f.reason
FROM unnest($2::bigint[]) AS asked (n)
CROSS JOIN LATERAL (SELECT * FROM hold WHERE subject = $1 AND hold.n = asked.n OFFSET 0) AS f
UNION ALL
SELECT f.subject, f.n, f.owner, f.key, f.stock, f.first_at, f.at, f.ends_at, f.state, f.ended_at, f.reserved, f.metadata, f.reason
FROM unnest($3::integer[]) AS asked (seat)
CROSS JOIN LATERAL (SELECT hold, kind FROM taken WHERE event = $1 AND taken.seat = asked.seat OFFSET 0) AS t
CROSS JOIN LATERAL (SELECT * FROM hold WHERE subject = $1 AND hold.n = t.hold OFFSET 0) AS f
WHERE t.kind = 'held'
UNION ALL
SELECT f.subject, f.n, f.owner, f.key, f.stock, f.first_at, f.at, f.ends_at, f.state, f.ended_at, f.reserved, f.metadata, f.reason
FROM unnest($4::text[]) AS asked (owner)
CROSS JOIN LATERAL (
    SELECT * FROM hold WHERE hold.owner >= asked.owner AND hold.owner <= asked.owner AND subject + 0 = $1 AND state = 'held'
    ORDER BY hold.owner OFFSET 0
) AS f
UNION ALL
SELECT f.subject, f.n, f.owner, f.key, f.stock, f.first_at, f.at, f.ends_at, f.state, f.ended_at, f.reserved, f.metadata, f.reason
FROM unnest($5::text[], $6::text[]) AS asked (key, stock)
CROSS JOIN LATERAL (
    SELECT * FROM hold
    WHERE hold.key >= asked.key AND hold.key <= asked.key AND subject + 0 = $1 AND hold.stock = asked.stock AND state = 'held'
    ORDER BY hold.key OFFSET 0
) AS f
UNION ALL
SELECT f.subject, f.n, f.owner, f.key, f.stock, f.first_at, f.at, f.ends_at, f.state, f.ended_at, f.reserved, f.metadata, f.reason
FROM unnest($8::text[], $9::text[]) AS asked (owner, stock)
CROSS JOIN LATERAL (
    SELECT * FROM hold
    WHERE hold.owner = asked.owner AND hold.stock = asked.stock AND subject + 0 = $1
        AND ended_at > (SELECT ms FROM now) - $10 AND ended_at IS NOT NULL AND reserved IS NULL OFFSET 0
) AS f
UNION ALL
(SELECT subject, n, owner, key, stock, first_at, at, ends_at, state, ended_at, reserved, metadata, reason
 FROM hold WHERE subject = $1 AND state = 'held' AND ends_at <= (SELECT ms FROM now) ORDER BY ends_at, n LIMIT $7)
