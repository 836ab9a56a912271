UPDATE night SET total = ?3 WHERE room_type = ?1 AND day = ?2
