-- Zero rows: the line had already begun.
UPDATE event SET line_used = 1 WHERE id = ?1 AND line_used = 0
