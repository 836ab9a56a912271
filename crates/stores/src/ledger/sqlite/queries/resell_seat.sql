-- Sells a freed seat. Zero rows: the seat is not free.
UPDATE taken
SET kind = 'sold', owner = ?3, unit = ?4, unit_limit = ?5, n = ?6, at = ?7, number = ?8, buyer = ?9, phone = ?10,
    email = ?11, metadata = ?12, salt = ?13
WHERE event = ?1 AND seat = ?2 AND kind = 'free'
