-- How many are inside, and the sum of their history numbers: compared with what the door knows.
SELECT count(*), coalesce(sum(n), 0) FROM entry INDEXED BY entry_ends
WHERE event = ?1 AND over_at IS NULL AND ends > ?2
