UPDATE event SET name = ?2, max_per_user = ?3, opens_at = ?4, state = ?5, deleted = ?6 WHERE id = ?1
