INSERT INTO stay (room_type, n, owner, check_in, check_out, hold, at, metadata) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
