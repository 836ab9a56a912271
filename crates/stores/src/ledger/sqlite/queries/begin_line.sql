-- Zero rows: the line was started before.
UPDATE event SET line_used = 1 WHERE id = ?1 AND line_used = 0
