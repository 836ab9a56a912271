-- What a user gave for the seats that stand.
UPDATE taken SET buyer = NULL, phone = NULL, email = NULL, salt = NULL
WHERE owner = ?1 AND kind = 'sold' AND (buyer IS NOT NULL OR phone IS NOT NULL OR email IS NOT NULL)
