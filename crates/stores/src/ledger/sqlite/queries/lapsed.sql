-- What has lapsed elsewhere, oldest first, a bounded number: tidying, nobody waits for it.
SELECT subject, n, owner, key, stock, first_at, at, ends_at, state, ended_at, reserved
FROM hold INDEXED BY hold_end WHERE subject = ?1 AND state = 'held' AND ends_at <= ?2 ORDER BY ends_at LIMIT ?3
