-- Puts seats on hold for the first time. The primary key refuses a second owner. hall_seats and the arrays:
-- see sell.
INSERT INTO taken (event, kind, hall_seats, seat, owner, unit, unit_limit, n, at, hold, ends_at)
SELECT $1, 'held', (SELECT seat_count FROM event WHERE id = $1),
       unnest($2::integer[]), unnest($3::text[]), unnest($4::integer[]), unnest($5::integer[]), unnest($6::bigint[]),
       unnest($7::bigint[]), unnest($8::bigint[]), unnest($9::bigint[])
