-- Every hold that a batch of an event needs, some of them twice: by number; those on these seats; what
-- these users hold; what is held under these keys; and what has lapsed elsewhere, oldest first, a
-- bounded number. Now comes from a subquery, because an index is not asked about a volatile function.
WITH now AS MATERIALIZED (SELECT greatest(ledger_now(), (SELECT changed_at FROM event WHERE id = $1)) AS ms)
SELECT subject, n, owner, key, stock, first_at, at, ends_at, state, ended_at, reserved
FROM hold WHERE subject = $1 AND n = ANY ($2::bigint[])
UNION ALL
SELECT h.subject, h.n, h.owner, h.key, h.stock, h.first_at, h.at, h.ends_at, h.state, h.ended_at, h.reserved
FROM taken t JOIN hold h ON h.subject = t.event AND h.n = t.hold
WHERE t.event = $1 AND t.seat = ANY ($3::integer[]) AND t.kind = 'held'
UNION ALL
SELECT subject, n, owner, key, stock, first_at, at, ends_at, state, ended_at, reserved
FROM hold WHERE owner = ANY ($4::text[]) AND subject = $1 AND state = 'held'
UNION ALL
SELECT subject, n, owner, key, stock, first_at, at, ends_at, state, ended_at, reserved
FROM hold WHERE subject = $1 AND key = ANY ($5::text[]) AND state = 'held'
UNION ALL
(SELECT subject, n, owner, key, stock, first_at, at, ends_at, state, ended_at, reserved
 FROM hold WHERE subject = $1 AND state = 'held' AND ends_at <= (SELECT ms FROM now) ORDER BY ends_at LIMIT $6)
