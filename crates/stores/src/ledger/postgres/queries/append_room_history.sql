-- What happened, in order; the first row names the batch.
INSERT INTO history (event, n, what, owner, by_admin, at, hold, check_in, check_out, batch)
SELECT $1, h.*, CASE WHEN h.n = $10 THEN $11 END
FROM unnest($2::bigint[], $3::text[], $4::text[], $5::boolean[], $6::bigint[], $7::bigint[], $8::integer[], $9::integer[])
     AS h (n, what, owner, by_admin, at, hold, check_in, check_out)
