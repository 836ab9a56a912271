-- Ends these sales and holds. The number is the guard: a row that is not hit is somebody else's. Found
-- by a probe of the key each; under the event's lock no row moves in between.
WITH freed AS (
    UPDATE taken t
    SET kind = 'free', owner = NULL, unit = NULL, unit_limit = NULL, n = NULL, at = $4, number = NULL, buyer = NULL, phone = NULL,
        hold = NULL, ends_at = NULL
    FROM unnest($2::integer[], $3::bigint[]) AS ended (seat, n)
    CROSS JOIN LATERAL (SELECT ctid FROM taken WHERE event = $1 AND taken.seat = ended.seat OFFSET 0) AS place
    WHERE t.ctid = place.ctid AND t.kind <> 'free' AND t.n = ended.n
    RETURNING 1
)
SELECT exactly((SELECT count(*) FROM freed), cardinality($2))
