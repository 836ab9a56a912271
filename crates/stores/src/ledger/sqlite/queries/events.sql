SELECT id, name, max_per_user, opens_at, state, deleted, created_at, n, "cursor", sold, held, came_back
FROM event WHERE deleted = 0 AND id > ?1 ORDER BY id LIMIT ?2
