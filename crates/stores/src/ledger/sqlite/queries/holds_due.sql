SELECT EXISTS (SELECT 1 FROM hold WHERE state <> 'held' AND state <> 'confirmed' AND ended_at <= ?1)
