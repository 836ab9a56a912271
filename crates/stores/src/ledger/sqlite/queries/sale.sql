-- A sale by its history number, if it is not cancelled: the seat's row must still have that number.
SELECT t.seat, t.n, t.owner, t.unit, t.unit_limit, t.buyer, t.phone, t.number, t.at, t.email, t.metadata
FROM history h
JOIN taken t ON t.event = h.event AND t.seat = h.seat AND t.n = h.n AND t.kind = 'sold'
WHERE h.event = ?1 AND h.n = ?2
