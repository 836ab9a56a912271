SELECT seat, n, owner, unit, unit_limit, buyer, phone, number, at, email, metadata, event
FROM taken WHERE event = ?1 AND kind = 'sold' AND seat > ?2 ORDER BY seat LIMIT ?3
