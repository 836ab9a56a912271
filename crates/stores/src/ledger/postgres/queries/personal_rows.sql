-- The next rows of history, and which of them are about this user and still have something to erase.
SELECT event, n, coalesce(owner = $1 AND salt IS NOT NULL, FALSE)
FROM history WHERE (event, n) > ($2, $3) ORDER BY event, n LIMIT $4
