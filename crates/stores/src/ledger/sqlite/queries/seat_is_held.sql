SELECT EXISTS (SELECT 1 FROM taken WHERE event = ?1 AND seat = ?2 AND kind = 'held' AND ends_at > ?3)
