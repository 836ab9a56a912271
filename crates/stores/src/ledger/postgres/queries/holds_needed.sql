-- Every hold that a batch of a room type needs, some of them twice: by number; what these users hold;
-- what is held under these keys; what has lapsed on the nights that somebody wants, all of it, or the
-- nights would seem full; and what has lapsed elsewhere, oldest first, a bounded number. Written as
-- probes, because for arrays the planner may prefer to read all holds of the room type; `+ 0` leaves
-- only the index of the owner, or of the key, to probe, whatever is believed of a new table. Now comes from
-- a subquery, because an index is not asked about a volatile function. It is at least the now that was
-- read before; the rules ask again.
WITH now AS MATERIALIZED (SELECT greatest(ledger_now(), (SELECT changed_at FROM room_type WHERE id = -$1::bigint)) AS ms)
SELECT f.subject, f.n, f.owner, f.key, f.stock, f.first_at, f.at, f.ends_at, f.state, f.ended_at, f.reserved
FROM unnest($2::bigint[]) AS asked (n)
CROSS JOIN LATERAL (SELECT * FROM hold WHERE subject = $1 AND hold.n = asked.n OFFSET 0) AS f
UNION ALL
SELECT f.subject, f.n, f.owner, f.key, f.stock, f.first_at, f.at, f.ends_at, f.state, f.ended_at, f.reserved
FROM unnest($3::text[]) AS asked (owner)
CROSS JOIN LATERAL (SELECT * FROM hold WHERE hold.owner = asked.owner AND subject + 0 = $1 AND state = 'held' OFFSET 0) AS f
UNION ALL
SELECT f.subject, f.n, f.owner, f.key, f.stock, f.first_at, f.at, f.ends_at, f.state, f.ended_at, f.reserved
FROM unnest($4::text[]) AS asked (key)
CROSS JOIN LATERAL (SELECT * FROM hold WHERE hold.key = asked.key AND subject + 0 = $1 AND state = 'held' OFFSET 0) AS f
UNION ALL
SELECT subject, n, owner, key, stock, first_at, at, ends_at, state, ended_at, reserved
FROM hold WHERE subject = $1 AND state = 'held' AND ends_at <= (SELECT ms FROM now) AND check_in < $6 AND check_out > $5
UNION ALL
(SELECT subject, n, owner, key, stock, first_at, at, ends_at, state, ended_at, reserved
 FROM hold WHERE subject = $1 AND state = 'held' AND ends_at <= (SELECT ms FROM now) ORDER BY ends_at LIMIT $7)
