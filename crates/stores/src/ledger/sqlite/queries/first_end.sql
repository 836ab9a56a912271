-- The end of the first live hold to expire: one probe of hold_end.
SELECT min(ends_at) FROM hold INDEXED BY hold_end WHERE subject = ?1 AND state = 'held' AND ends_at > ?2
