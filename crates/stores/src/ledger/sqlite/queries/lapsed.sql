-- Expired holds of the subject, oldest first, up to a limit.
SELECT subject, n, owner, key, stock, first_at, at, ends_at, state, ended_at, reserved, metadata, reason
FROM hold INDEXED BY hold_end WHERE subject = ?1 AND state = 'held' AND ends_at <= ?2 ORDER BY ends_at, n LIMIT ?3
