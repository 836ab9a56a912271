-- A user's entry that has not ended: one probe of entry_user.
SELECT number, user_id, token, n, begins, ends, cap FROM entry INDEXED BY entry_user
WHERE event = ?1 AND user_id = ?2 AND over_at IS NULL
