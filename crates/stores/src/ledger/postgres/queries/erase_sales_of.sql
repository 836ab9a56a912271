-- What a user gave, and what the shop keeps, for the seats that stand.
UPDATE taken SET buyer = NULL, phone = NULL, email = NULL, metadata = NULL, salt = NULL
WHERE owner = $1 AND kind = 'sold'
    AND (buyer IS NOT NULL OR phone IS NOT NULL OR email IS NOT NULL OR metadata IS NOT NULL)
