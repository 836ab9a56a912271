-- Changes a live hold only. Zero rows: it has ended already.
UPDATE hold SET state = ?3, ends_at = ?4, ended_at = ?5, reserved = ?6, reason = ?7 WHERE subject = ?1 AND n = ?2 AND state = 'held'
