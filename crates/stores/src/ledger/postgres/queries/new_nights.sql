INSERT INTO night (room_type, day, total)
SELECT d.* FROM unnest($1::bigint[], $2::integer[], $3::integer[]) AS d
