-- What a seat that was asked for is now.
SELECT kind, owner, ends_at FROM taken WHERE event = ?1 AND seat = ?2
