-- Puts seats on hold for the first time. The primary key refuses a second owner.
INSERT INTO taken (event, kind, seat, owner, unit, unit_limit, n, at, hold, ends_at)
SELECT $1, 'held', s.*
FROM unnest($2::integer[], $3::text[], $4::integer[], $5::integer[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[]) AS s
