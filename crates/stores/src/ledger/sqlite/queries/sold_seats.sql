SELECT seat FROM taken WHERE event = ?1 AND kind = 'sold' ORDER BY seat
