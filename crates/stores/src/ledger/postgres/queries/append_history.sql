-- Appends the history of a batch, in order. The first row carries the batch's id. First-time sales are
-- appended by sell. Arrays in the select list: see sell.
INSERT INTO history (event, n, what, seat, owner, by_admin, by_name, number, at, hold, batch,
                     contact, trace, details, address, salt, hash)
SELECT $1, h.n, h.what, h.seat, h.owner, h.admin IS NOT NULL, h.admin, h.number, h.at, h.hold,
       CASE WHEN h.n = $10 THEN $11 END, h.contact, h.trace, h.details, h.address, h.salt, h.hash
FROM (
    SELECT unnest($2::bigint[]) AS n, unnest($3::text[]) AS what, unnest($4::integer[]) AS seat,
           unnest($5::text[]) AS owner, unnest($6::text[]) AS admin, unnest($7::bigint[]) AS number,
           unnest($8::bigint[]) AS at, unnest($9::bigint[]) AS hold, unnest($12::bytea[]) AS contact,
           unnest($13::text[]) AS trace, unnest($14::text[]) AS details, unnest($15::text[]) AS address,
           unnest($16::bytea[]) AS salt, unnest($17::bytea[]) AS hash
) AS h
