-- The next rows of history, and which of them are about this user and still have something to erase.
-- The ledger's own rows tell where operators asked from, not the user.
SELECT event, n, coalesce(owner = $1 AND salt IS NOT NULL AND event <> 0, FALSE)
FROM history WHERE (event, n) > ($2, $3) ORDER BY event, n LIMIT $4
