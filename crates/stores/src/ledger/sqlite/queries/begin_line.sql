-- Zero rows: a line was begun before.
UPDATE event SET line_used = 1 WHERE id = ?1 AND line_used = 0
