-- The number of live holds, and of lapsed holds that are not marked expired yet. Reads at most ?2 entries of the index
-- of held holds, so its cost is bounded however many there are.
SELECT count(*) FILTER (WHERE ends_at > ?1), count(*) FILTER (WHERE ends_at <= ?1)
FROM (SELECT ends_at FROM hold INDEXED BY hold_end WHERE state = 'held' LIMIT ?2)
