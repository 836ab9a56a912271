-- Every hold that a batch of a room type needs, some of them twice: by number; what these users hold;
-- what is held under these keys; what has lapsed on the nights that somebody wants, all of it, or the
-- nights would seem full; and what has lapsed elsewhere, oldest first, a bounded number. Now comes from
-- a subquery, because an index is not asked about a volatile function. It is at least the now that was
-- read before; the rules ask again.
WITH now AS MATERIALIZED (SELECT greatest(ledger_now(), (SELECT changed_at FROM room_type WHERE id = -$1::bigint)) AS ms)
SELECT subject, n, owner, key, stock, first_at, at, ends_at, state, ended_at, reserved
FROM hold WHERE subject = $1 AND n = ANY ($2::bigint[])
UNION ALL
SELECT subject, n, owner, key, stock, first_at, at, ends_at, state, ended_at, reserved
FROM hold WHERE owner = ANY ($3::text[]) AND subject = $1 AND state = 'held'
UNION ALL
SELECT subject, n, owner, key, stock, first_at, at, ends_at, state, ended_at, reserved
FROM hold WHERE subject = $1 AND key = ANY ($4::text[]) AND state = 'held'
UNION ALL
SELECT subject, n, owner, key, stock, first_at, at, ends_at, state, ended_at, reserved
FROM hold WHERE subject = $1 AND state = 'held' AND ends_at <= (SELECT ms FROM now) AND check_in < $6 AND check_out > $5
UNION ALL
(SELECT subject, n, owner, key, stock, first_at, at, ends_at, state, ended_at, reserved
 FROM hold WHERE subject = $1 AND state = 'held' AND ends_at <= (SELECT ms FROM now) ORDER BY ends_at LIMIT $7)
