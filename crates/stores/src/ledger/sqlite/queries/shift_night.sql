-- Adds differences to the counts, and sets a new total where one is given. The row's checks refuse a count below
-- zero or above the total.
UPDATE night SET reserved = reserved + ?3, held = held + ?4, lapsed = lapsed + ?5, total = coalesce(?6, total)
WHERE room_type = ?1 AND day = ?2
