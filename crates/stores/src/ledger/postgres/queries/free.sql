-- Ends these sales and holds. The number is the guard: a row that is not hit is somebody else's.
WITH freed AS (
    UPDATE taken t
    SET kind = 'free', owner = NULL, unit = NULL, unit_limit = NULL, n = NULL, at = $4, number = NULL, buyer = NULL, phone = NULL,
        hold = NULL, ends_at = NULL
    FROM unnest($2::integer[], $3::bigint[]) AS ended (seat, n)
    WHERE t.event = $1 AND t.seat = ended.seat AND t.kind <> 'free' AND t.n = ended.n
    RETURNING 1
)
SELECT exactly((SELECT count(*) FROM freed), cardinality($2))
