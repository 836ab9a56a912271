-- Sells seats for the first time, and appends each sale to the history. The batch's first history row carries
-- the batch's id. One statement, because both tables get the same columns, which are read once here.
-- The primary key refuses a second owner. The size of the hall comes from the event, not from the caller.
-- The arrays are unnested side by side in the select list: in FROM, PostgreSQL would first materialize each
-- array in a tuplestore. There an empty array stands for nulls only: emails, metadata and details are mostly none.
WITH sale AS MATERIALIZED (
    SELECT unnest($2::integer[]) AS seat, unnest($3::text[]) AS owner, unnest($4::integer[]) AS unit,
           unnest($5::integer[]) AS unit_limit, unnest($6::bigint[]) AS n, unnest($7::bigint[]) AS at,
           unnest($8::bigint[]) AS number, unnest($9::text[]) AS buyer, unnest($10::text[]) AS phone,
           unnest($11::text[]) AS email, unnest($12::text[]) AS metadata, unnest($13::text[]) AS admin,
           unnest($16::text[]) AS trace, unnest($17::text[]) AS details, unnest($18::text[]) AS address,
           unnest($19::bytea[]) AS salt, unnest($20::bytea[]) AS hash, unnest($21::bytea[]) AS contact,
           unnest($22::bytea[]) AS contact_salt
), sold AS (
    INSERT INTO taken (event, kind, hall_seats, seat, owner, unit, unit_limit, n, at, number, buyer, phone, email,
                       metadata, salt)
    SELECT $1, 'sold', (SELECT seat_count FROM event WHERE id = $1),
           seat, owner, unit, unit_limit, n, at, number, buyer, phone, email, metadata, contact_salt
    FROM sale
)
INSERT INTO history (event, n, what, seat, owner, by_admin, by_name, number, at, batch,
                     contact, trace, details, address, salt, hash)
SELECT $1, n, 'reserved', seat, owner, admin IS NOT NULL, admin, number, at, CASE WHEN n = $14 THEN $15 END,
       contact, trace, details, address, salt, hash
FROM sale
