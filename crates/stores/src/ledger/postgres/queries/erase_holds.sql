-- Erases what the shop or the caller wrote to these holds of a subject. By age, a reason is kept for the same time as
-- other data, counted from the end of the hold.
UPDATE hold t SET metadata = NULL, reason = CASE WHEN coalesce(ended_at < ledger_now() - $3::bigint, TRUE) THEN NULL ELSE reason END
FROM unnest($2::bigint[]) AS asked (n)
CROSS JOIN LATERAL (SELECT ctid FROM hold WHERE subject = $1 AND hold.n = asked.n OFFSET 0) AS place
WHERE t.ctid = place.ctid AND (metadata IS NOT NULL OR reason IS NOT NULL)
