-- Sells seats for the first time. The primary key refuses a second owner.
INSERT INTO taken (event, kind, seat, owner, unit, unit_limit, n, at, number, buyer, phone)
SELECT $1, 'sold', s.*
FROM unnest($2::integer[], $3::text[], $4::integer[], $5::integer[], $6::bigint[], $7::bigint[], $8::bigint[], $9::text[], $10::text[]) AS s
