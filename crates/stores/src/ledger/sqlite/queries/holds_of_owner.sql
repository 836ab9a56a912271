-- One user's holds in one subject, expired or not: one probe of hold_owner.
SELECT subject, n, owner, key, stock, first_at, at, ends_at, state, ended_at, reserved, metadata, reason
FROM hold INDEXED BY hold_owner WHERE owner = ?1 AND subject = ?2 AND state = 'held'
