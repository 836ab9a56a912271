-- Puts freed seats on hold. `exactly` fails if a seat is not free.
WITH held AS (
    UPDATE taken t
    SET kind = 'held', owner = s.owner, unit = s.unit, unit_limit = s.unit_limit, n = s.n, at = s.at,
        hold = s.hold, ends_at = s.ends_at
    FROM unnest($2::integer[], $3::text[], $4::integer[], $5::integer[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[])
         AS s (seat, owner, unit, unit_limit, n, at, hold, ends_at)
    CROSS JOIN LATERAL (SELECT ctid FROM taken WHERE event = $1 AND taken.seat = s.seat OFFSET 0) AS place
    WHERE t.ctid = place.ctid AND t.kind = 'free'
    RETURNING 1
)
SELECT exactly((SELECT count(*) FROM held), cardinality($2))
