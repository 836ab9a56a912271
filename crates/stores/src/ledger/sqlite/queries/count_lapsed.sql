-- A step of counting: the next expired holds beyond the mark. The index is covering.
SELECT ends_at, n, check_in, check_out FROM hold INDEXED BY hold_end
WHERE subject = ?1 AND state = 'held' AND (ends_at, n) > (?2, ?3) AND ends_at <= ?4 ORDER BY ends_at, n LIMIT ?5
