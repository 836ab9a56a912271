-- Sells seats to their holders. A row that is not hit is not on that hold.
WITH sold AS (
    UPDATE taken t
    SET kind = 'sold', n = s.n, at = s.at, ends_at = NULL
    FROM unnest($2::integer[], $3::bigint[], $4::bigint[], $5::bigint[]) AS s (seat, hold, n, at)
    WHERE t.event = $1 AND t.seat = s.seat AND t.kind = 'held' AND t.hold = s.hold
    RETURNING 1
)
SELECT exactly((SELECT count(*) FROM sold), cardinality($2))
