SELECT id FROM event WHERE deleted = 1 AND tidied_at IS NULL AND changed_at <= ?1 ORDER BY id LIMIT ?2
