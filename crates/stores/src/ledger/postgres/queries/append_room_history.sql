-- What happened, in order; the first row of each room type names the batch.
INSERT INTO history (event, n, what, owner, by_admin, at, hold, check_in, check_out, batch)
SELECT h.*
FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::boolean[], $6::bigint[], $7::bigint[],
            $8::integer[], $9::integer[], $10::text[]) AS h
