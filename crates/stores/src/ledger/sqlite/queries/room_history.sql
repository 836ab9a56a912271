SELECT n, what, owner, by_admin, at, hold, check_in, check_out, by_name, details FROM history WHERE event = ?1 AND n > ?2 ORDER BY n LIMIT ?3
