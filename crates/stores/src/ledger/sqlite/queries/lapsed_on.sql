-- All expired holds on the requested nights: otherwise the nights would seem full.
SELECT subject, n, owner, key, stock, first_at, at, ends_at, state, ended_at, reserved
FROM hold INDEXED BY hold_end
WHERE subject = ?1 AND state = 'held' AND ends_at <= ?2 AND check_in < ?4 AND check_out > ?3
