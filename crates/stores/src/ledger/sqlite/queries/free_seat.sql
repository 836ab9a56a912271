-- Ends one sale. The number is the guard: zero rows means that somebody else's sale stands there.
UPDATE taken
SET kind = 'free', owner = NULL, unit = NULL, unit_limit = NULL, n = NULL, at = ?4, number = NULL, buyer = NULL, phone = NULL, hold = NULL
WHERE event = ?1 AND seat = ?2 AND kind = 'sold' AND n = ?3
