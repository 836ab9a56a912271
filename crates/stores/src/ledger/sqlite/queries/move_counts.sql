-- The last write of a batch. The old number is the guard against a second writer.
UPDATE event SET n = ?3, "cursor" = ?4, sold = ?5, held = ?6, came_back = ?7, changed_at = max(changed_at, ?8)
WHERE id = ?1 AND n = ?2
