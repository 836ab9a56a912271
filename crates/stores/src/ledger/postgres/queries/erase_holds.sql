-- What the shop or the caller wrote to these holds of a subject. By age, a reason stays for as long after the end of the
-- hold as everything else after it was given.
UPDATE hold SET metadata = NULL, reason = CASE WHEN coalesce(ended_at < ledger_now() - $3::bigint, TRUE) THEN NULL ELSE reason END
WHERE subject = $1 AND n = ANY ($2::bigint[]) AND (metadata IS NOT NULL OR reason IS NOT NULL)
