SELECT n, what, seat, owner, by_admin, number, at, hold, by_name, details FROM history WHERE event = ?1 AND n > ?2 ORDER BY n LIMIT ?3
