INSERT INTO night (room_type, day, total) VALUES (?1, ?2, ?3)
