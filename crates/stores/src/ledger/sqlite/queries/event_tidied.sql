-- Only if no rows are left.
UPDATE event SET tidied_at = ?2
WHERE id = ?1 AND deleted = 1 AND tidied_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM taken WHERE event = ?1) AND NOT EXISTS (SELECT 1 FROM entry WHERE event = ?1)
  AND NOT EXISTS (SELECT 1 FROM hold WHERE subject = ?1) AND NOT EXISTS (SELECT 1 FROM answer WHERE event = ?1)
  AND NOT EXISTS (SELECT 1 FROM hall WHERE event = ?1)
