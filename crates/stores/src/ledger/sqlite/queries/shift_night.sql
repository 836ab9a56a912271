-- By differences: the row itself refuses to go below nothing or beyond its total.
UPDATE night SET reserved = reserved + ?3, held = held + ?4, total = CASE WHEN day >= ?5 THEN ?6 ELSE total END
WHERE room_type = ?1 AND day = ?2
