-- The next rows of history, and which of them are about this user. Rows that were erased before count too: a hold or a
-- stay of theirs may still have metadata.
-- The ledger's own rows tell where operators asked from, not the user.
SELECT event, n, coalesce(owner = $1 AND event <> 0, FALSE)
FROM history WHERE (event, n) > ($2, $3) ORDER BY event, n LIMIT $4
