-- By dates, the number of expired holds that are not in the sums of their nights yet. The index is covering.
SELECT check_in, check_out, count(*)
FROM hold INDEXED BY hold_end
WHERE subject = ?1 AND state = 'held' AND (ends_at, n) > (?5, ?6) AND ends_at <= ?2 AND check_in < ?4 AND check_out > ?3
GROUP BY check_in, check_out
