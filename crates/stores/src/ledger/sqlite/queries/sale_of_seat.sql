SELECT seat, n, owner, unit, unit_limit, buyer, phone, number, at, email, metadata
FROM taken WHERE event = ?1 AND seat = ?2 AND kind = 'sold'
