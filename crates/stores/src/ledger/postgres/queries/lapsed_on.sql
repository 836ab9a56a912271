-- Expired holds on the nights of which too few rooms are left, as many as are needed on each: by the day they
-- begin, the night itself first. Each day is one probe of hold_nights; the order leaves only that
-- index to use, see holds_needed.
SELECT found.subject, found.n, found.owner, found.key, found.stock, found.first_at, found.at, found.ends_at, found.state,
       found.ended_at, found.reserved, found.metadata, found.reason
FROM unnest($2::integer[], $3::integer[]) AS short (day, needed)
CROSS JOIN LATERAL (
    SELECT f.*
    FROM generate_series(0, $5::integer - 1) AS back
    CROSS JOIN LATERAL (
        SELECT * FROM hold
        WHERE hold.subject = $1 AND state = 'held' AND check_in >= short.day - back AND check_in <= short.day - back
          AND check_out > short.day AND hold.ends_at <= $4
        ORDER BY check_in
        LIMIT short.needed
    ) AS f
    LIMIT short.needed
) AS found
