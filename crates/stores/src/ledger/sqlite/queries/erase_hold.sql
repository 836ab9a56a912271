-- Erases what the shop or the caller wrote to a hold. By age, a reason is kept for the same time as other data, counted
-- from the end of the hold.
UPDATE hold SET metadata = NULL, reason = CASE WHEN ended_at >= ?3 THEN reason END
WHERE subject = ?1 AND n = ?2 AND (metadata IS NOT NULL OR reason IS NOT NULL)
