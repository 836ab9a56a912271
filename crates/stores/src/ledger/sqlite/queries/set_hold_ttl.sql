UPDATE event SET hold_ttl = ?2 WHERE id = ?1
