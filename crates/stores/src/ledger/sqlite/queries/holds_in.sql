-- The stored holds of a subject, in any state, by the primary key.
SELECT subject, n, owner, key, stock, first_at, at, ends_at, state, ended_at, reserved, metadata, reason
FROM hold WHERE subject = ?1 AND n > ?2 AND state <> 'replaced' ORDER BY n LIMIT ?3
