-- Puts a freed seat on hold. Zero rows: the seat is not free.
UPDATE taken
SET kind = 'held', owner = ?3, unit = ?4, unit_limit = ?5, n = ?6, at = ?7, hold = ?8, ends_at = ?9
WHERE event = ?1 AND seat = ?2 AND kind = 'free'
