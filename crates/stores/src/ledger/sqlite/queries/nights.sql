SELECT day, total, reserved, held, lapsed FROM night WHERE room_type = ?1 AND day >= ?2 AND day < ?3 ORDER BY day
