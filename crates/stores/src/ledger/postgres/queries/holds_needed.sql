-- Every hold that a batch of room types needs; a hold may occur twice. By history number; by owner; by client key and
-- stock; by owner and stock, given back lately; and expired holds, oldest first, up to a limit per room type. Each is
-- an index probe, because for arrays the planner may read all holds of the room type. `+ 0` and the order leave only
-- the index on the owner, or on the key, to use, whatever the planner estimates for a new table: three indexes have the
-- same condition, and for an equal value the order would mean nothing. The current time comes from a subquery, because
-- PostgreSQL does not use a volatile function as an index condition. It is never earlier than the time of any of these
-- room types; the rules check each hold again. Owners and keys are unnested in the select list: see sell.
WITH now AS MATERIALIZED (
    SELECT greatest(ledger_now(), (
        SELECT max(known.changed_at) FROM unnest($1::bigint[]) AS asked (subject)
        CROSS JOIN LATERAL (SELECT changed_at FROM room_type WHERE id = -asked.subject OFFSET 0) AS known
    )) AS ms
)
SELECT f.subject, f.n, f.owner, f.key, f.stock, f.first_at, f.at, f.ends_at, f.state, f.ended_at, f.reserved, f.metadata, f.reason
FROM unnest($2::bigint[], $3::bigint[]) AS asked (subject, n)
CROSS JOIN LATERAL (SELECT * FROM hold WHERE hold.subject = asked.subject AND hold.n = asked.n OFFSET 0) AS f
UNION ALL
SELECT f.subject, f.n, f.owner, f.key, f.stock, f.first_at, f.at, f.ends_at, f.state, f.ended_at, f.reserved, f.metadata, f.reason
FROM (SELECT unnest($4::bigint[]) AS subject, unnest($5::text[]) AS owner) AS asked
CROSS JOIN LATERAL (
    SELECT * FROM hold
    WHERE hold.owner >= asked.owner AND hold.owner <= asked.owner AND hold.subject + 0 = asked.subject AND state = 'held'
    ORDER BY hold.owner OFFSET 0
) AS f
UNION ALL
SELECT f.subject, f.n, f.owner, f.key, f.stock, f.first_at, f.at, f.ends_at, f.state, f.ended_at, f.reserved, f.metadata, f.reason
FROM (SELECT unnest($6::bigint[]) AS subject, unnest($7::text[]) AS key, unnest($8::text[]) AS stock) AS asked
CROSS JOIN LATERAL (
    SELECT * FROM hold
    WHERE hold.key >= asked.key AND hold.key <= asked.key AND hold.subject + 0 = asked.subject
        AND hold.stock = asked.stock AND state = 'held'
    ORDER BY hold.key OFFSET 0
) AS f
UNION ALL
SELECT f.subject, f.n, f.owner, f.key, f.stock, f.first_at, f.at, f.ends_at, f.state, f.ended_at, f.reserved, f.metadata, f.reason
FROM (SELECT unnest($10::bigint[]) AS subject, unnest($11::text[]) AS owner, unnest($12::text[]) AS stock) AS asked
CROSS JOIN LATERAL (
    SELECT * FROM hold
    WHERE hold.owner = asked.owner AND hold.stock = asked.stock AND hold.subject + 0 = asked.subject
        AND ended_at > (SELECT ms FROM now) - $13 AND ended_at IS NOT NULL AND reserved IS NULL OFFSET 0
) AS f
UNION ALL
SELECT f.subject, f.n, f.owner, f.key, f.stock, f.first_at, f.at, f.ends_at, f.state, f.ended_at, f.reserved, f.metadata, f.reason
FROM unnest($1::bigint[]) AS asked (subject)
CROSS JOIN LATERAL (
    SELECT * FROM hold WHERE hold.subject = asked.subject AND state = 'held' AND ends_at <= (SELECT ms FROM now)
    ORDER BY ends_at, n LIMIT $9
) AS f
