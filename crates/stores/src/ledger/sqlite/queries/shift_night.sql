-- Adds differences to the counts. The row's checks refuse a count below zero or above the total.
UPDATE night SET reserved = reserved + ?3, held = held + ?4, lapsed = lapsed + ?7,
    total = CASE WHEN day >= ?5 THEN ?6 ELSE total END
WHERE room_type = ?1 AND day = ?2
