-- How many holds on which dates have lapsed and still stand in the counts of their nights.
SELECT check_in, check_out, count(*)
FROM hold INDEXED BY hold_end
WHERE subject = ?1 AND state = 'held' AND ends_at <= ?2 AND check_in < ?4 AND check_out > ?3
GROUP BY check_in, check_out
