SELECT content, at, kept FROM answer WHERE event = ?1 AND user = ?2 AND key = ?3
