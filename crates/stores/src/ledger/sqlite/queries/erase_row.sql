UPDATE history SET address = NULL, details = NULL, salt = NULL, erased = ?3 WHERE event = ?1 AND n = ?2
