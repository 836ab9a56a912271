-- Expired entries that are not marked over yet, oldest first.
SELECT number, user_id, token, n, begins, ends, cap FROM entry INDEXED BY entry_ends
WHERE event = ?1 AND over_at IS NULL AND ends <= ?2 ORDER BY ends LIMIT ?3
