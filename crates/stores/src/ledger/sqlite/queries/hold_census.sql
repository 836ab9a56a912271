-- How many holds last, and how many have lapsed and were not turned yet. Reads at most ?2 entries of the index of
-- holds that are held, so its cost is bounded however many there are.
SELECT count(*) FILTER (WHERE ends_at > ?1), count(*) FILTER (WHERE ends_at <= ?1)
FROM (SELECT ends_at FROM hold INDEXED BY hold_end WHERE state = 'held' LIMIT ?2)
