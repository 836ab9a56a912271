INSERT INTO hold (subject, n, owner, key, stock, check_in, check_out, first_at, at, ends_at, state, ended_at, reserved)
SELECT h.*
FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::integer[], $7::integer[], $8::bigint[],
            $9::bigint[], $10::bigint[], $11::text[], $12::bigint[], $13::text[]) AS h
