-- Ends one sale or hold. The history number is the guard. Zero rows: the seat has a newer sale or hold.
UPDATE taken
SET kind = 'free', owner = NULL, unit = NULL, unit_limit = NULL, n = NULL, at = ?4, number = NULL, buyer = NULL, phone = NULL,
    email = NULL, metadata = NULL, salt = NULL, hold = NULL,
    ends_at = NULL
WHERE event = ?1 AND seat = ?2 AND kind <> 'free' AND n = ?3
