-- Sells held seats to their holders. `exactly` fails if a seat is not on that hold. `|| ''` keeps the planner from
-- using the index of held seats, which it would read as a whole.
WITH sold AS (
    UPDATE taken t
    SET kind = 'sold', n = s.n, at = s.at, ends_at = NULL, metadata = s.metadata, buyer = s.buyer, phone = s.phone, email = s.email, salt = s.salt
    FROM unnest($2::integer[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::text[], $8::text[], $9::text[], $10::bytea[])
         AS s (seat, hold, n, at, metadata, buyer, phone, email, salt)
    CROSS JOIN LATERAL (SELECT ctid FROM taken WHERE event = $1 AND taken.seat = s.seat OFFSET 0) AS place
    WHERE t.ctid = place.ctid AND t.kind || '' = 'held' AND t.hold = s.hold
    RETURNING 1
)
SELECT exactly((SELECT count(*) FROM sold), cardinality($2))
