-- What these users have of entries that are not over: one probe of entry_user each.
SELECT number, user_id, token, n, begins, ends, cap FROM entry
WHERE event = $1 AND user_id = ANY ($2::text[]) AND over_at IS NULL
