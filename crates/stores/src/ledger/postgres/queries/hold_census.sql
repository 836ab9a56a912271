-- The number of live holds, and of lapsed holds that are not marked expired yet. Reads at most $1 entries of the index
-- of held holds, so its cost is bounded however many there are.
SELECT count(*) FILTER (WHERE ends_at > clock.now), count(*) FILTER (WHERE ends_at <= clock.now)
FROM (SELECT ends_at FROM hold WHERE state = 'held' ORDER BY subject, ends_at, n LIMIT $1) AS held
CROSS JOIN (SELECT ledger_now() AS now) AS clock
