DELETE FROM answer WHERE user = ?1
