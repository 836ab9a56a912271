DELETE FROM hall WHERE event = ?1 AND ?2 > 0
