-- What happened, in order; the first row names the batch.
INSERT INTO history (event, n, what, seat, owner, by_admin, number, at, hold, batch)
SELECT $1, h.n, h.what, h.seat, h.owner, h.by_admin, h.number, h.at, h.hold, CASE WHEN h.n = $10 THEN $11 END
FROM unnest($2::bigint[], $3::text[], $4::integer[], $5::text[], $6::boolean[], $7::bigint[], $8::bigint[], $9::bigint[])
     AS h (n, what, seat, owner, by_admin, number, at, hold)
