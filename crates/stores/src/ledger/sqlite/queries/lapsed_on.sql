-- Expired holds on one night, by the day they begin: one probe of hold_nights.
SELECT subject, n, owner, key, stock, first_at, at, ends_at, state, ended_at, reserved, metadata, reason
FROM hold INDEXED BY hold_nights
WHERE subject = ?1 AND state = 'held' AND check_in = ?2 AND check_out > ?3 AND ends_at <= ?4 LIMIT ?5
