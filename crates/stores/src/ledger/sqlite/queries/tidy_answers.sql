DELETE FROM answer WHERE event = ?1 AND (user, key) IN (SELECT user, key FROM answer WHERE event = ?1 LIMIT ?2)
