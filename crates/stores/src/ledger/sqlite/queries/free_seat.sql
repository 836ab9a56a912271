-- Ends one sale or hold. The number is the guard: zero rows means that somebody else's stands there.
UPDATE taken
SET kind = 'free', owner = NULL, unit = NULL, unit_limit = NULL, n = NULL, at = ?4, number = NULL, buyer = NULL, phone = NULL, hold = NULL,
    ends_at = NULL
WHERE event = ?1 AND seat = ?2 AND kind <> 'free' AND n = ?3
