-- The next rows of history, and which of them are about this user. Rows that were erased before are included, because
-- their holds or stays may still have metadata. The ledger's own rows contain the addresses of operators, not of the
-- user.
SELECT event, n, coalesce(owner = $1 AND event <> 0, FALSE)
FROM history WHERE (event, n) > ($2, $3) ORDER BY event, n LIMIT $4
