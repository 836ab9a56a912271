-- The given id or the next one. Whoever makes an event holds the lock of those who do.
INSERT INTO event (id, name, seat_count, max_per_user, opens_at, state, created_at, changed_at, n)
SELECT coalesce($1, (SELECT coalesce(max(id), 0) + 1 FROM event)), $2, $3, $4, $5::bigint,
       CASE WHEN $5::bigint > now.ms THEN 'scheduled' ELSE 'open' END, now.ms, now.ms, 1
FROM (SELECT ledger_now()) AS now (ms)
ON CONFLICT (id) DO NOTHING
RETURNING id, created_at
