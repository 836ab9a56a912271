-- Arrays in the select list: see sell.
INSERT INTO hold (subject, n, owner, key, stock, check_in, check_out, first_at, at, ends_at, state, ended_at, reserved,
                  metadata, reason)
SELECT unnest($1::bigint[]), unnest($2::bigint[]), unnest($3::text[]), unnest($4::text[]), unnest($5::text[]),
       unnest($6::integer[]), unnest($7::integer[]), unnest($8::bigint[]), unnest($9::bigint[]), unnest($10::bigint[]),
       unnest($11::text[]), unnest($12::bigint[]), unnest($13::text[]), unnest($14::text[]), unnest($15::text[])
