-- The current state of a requested seat.
SELECT kind, owner, ends_at FROM taken WHERE event = ?1 AND seat = ?2
