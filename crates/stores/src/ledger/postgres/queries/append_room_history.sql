-- Appends the history of a batch, in order. The first row of each room type carries the batch's id. Arrays in
-- the select list: see sell.
INSERT INTO history (event, n, what, owner, by_admin, by_name, at, hold, check_in, check_out, batch,
                     trace, details, address, salt, hash)
SELECT unnest($1::bigint[]), unnest($2::bigint[]), unnest($3::text[]), unnest($4::text[]),
       unnest($5::text[]) IS NOT NULL, unnest($5::text[]), unnest($6::bigint[]), unnest($7::bigint[]),
       unnest($8::integer[]), unnest($9::integer[]), unnest($10::text[]), unnest($11::text[]), unnest($12::text[]),
       unnest($13::text[]), unnest($14::bytea[]), unnest($15::bytea[])
