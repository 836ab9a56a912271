-- What one user has in one event: one probe of taken_owner, at most `limit` rows.
SELECT seat, n, unit, at FROM taken INDEXED BY taken_owner WHERE owner = ?1 AND event = ?2
