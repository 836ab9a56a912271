-- Ends these sales and holds. The history number is the guard: `exactly` fails if a seat has a newer sale or
-- hold. Each row is found by an index probe. Under the event's lock no row changes its ctid in between.
WITH freed AS (
    UPDATE taken t
    SET kind = 'free', owner = NULL, unit = NULL, unit_limit = NULL, n = NULL, at = $4, number = NULL, buyer = NULL, phone = NULL,
        email = NULL, metadata = NULL, salt = NULL, hold = NULL, ends_at = NULL
    FROM unnest($2::integer[], $3::bigint[]) AS ended (seat, n)
    CROSS JOIN LATERAL (SELECT ctid FROM taken WHERE event = $1 AND taken.seat = ended.seat OFFSET 0) AS place
    WHERE t.ctid = place.ctid AND t.kind <> 'free' AND t.n = ended.n
    RETURNING 1
)
SELECT exactly((SELECT count(*) FROM freed), cardinality($2))
