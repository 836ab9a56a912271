-- Only the sale of the history row: the seat may have been sold again.
UPDATE taken SET buyer = NULL, phone = NULL, email = NULL, metadata = NULL, salt = NULL
WHERE event = ?1 AND seat = ?2 AND n = ?3
    AND (buyer IS NOT NULL OR phone IS NOT NULL OR email IS NOT NULL OR metadata IS NOT NULL)
