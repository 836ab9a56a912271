SELECT seat_count FROM event WHERE id = ?1
