-- Sells a held seat to its holder. Zero rows: the seat is not on that hold.
UPDATE taken SET kind = 'sold', n = ?4, at = ?5, ends_at = NULL, metadata = ?6,
    buyer = ?7, phone = ?8, email = ?9, salt = ?10
WHERE event = ?1 AND seat = ?2 AND kind = 'held' AND hold = ?3
