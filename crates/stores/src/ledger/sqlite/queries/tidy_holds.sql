DELETE FROM hold WHERE subject = ?1 AND n IN (SELECT n FROM hold WHERE subject = ?1 LIMIT ?2)
