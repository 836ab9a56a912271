-- The hold with a client's key on this stock, expired or not. The key of another user's hold is a conflict.
SELECT subject, n, owner, key, stock, first_at, at, ends_at, state, ended_at, reserved, metadata, reason
FROM hold INDEXED BY hold_key WHERE subject = ?1 AND key = ?2 AND stock = ?3 AND state = 'held'
