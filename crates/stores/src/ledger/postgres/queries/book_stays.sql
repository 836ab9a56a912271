INSERT INTO stay (room_type, n, owner, check_in, check_out, hold, at, metadata)
SELECT s.*
FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::integer[], $5::integer[], $6::bigint[], $7::bigint[], $8::text[]) AS s
