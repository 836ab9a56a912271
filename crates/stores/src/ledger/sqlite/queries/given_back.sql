-- What one user held and gave back lately: one probe of hold_given_back.
SELECT subject, n, owner, key, stock, first_at, at, ends_at, state, ended_at, reserved, metadata, reason
FROM hold INDEXED BY hold_given_back
WHERE owner = ?1 AND stock = ?2 AND subject = ?3 AND ended_at > ?4 AND ended_at IS NOT NULL AND reserved IS NULL
