SELECT EXISTS (SELECT 1 FROM entry WHERE event = ?1 AND number = ?2)
