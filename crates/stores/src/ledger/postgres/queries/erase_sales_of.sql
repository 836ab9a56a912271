-- Erases a user's contact and the shop's metadata of the seats that are sold to them.
UPDATE taken SET buyer = NULL, phone = NULL, email = NULL, metadata = NULL, salt = NULL
WHERE owner = $1 AND kind = 'sold'
    AND (buyer IS NOT NULL OR phone IS NOT NULL OR email IS NOT NULL OR metadata IS NOT NULL)
