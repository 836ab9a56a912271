INSERT INTO night (room_type, day, total) SELECT $1, d.day, $3 FROM unnest($2::integer[]) AS d (day)
