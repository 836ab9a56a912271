-- Only from held: a row that is not hit has ended already.
WITH changed AS (
    UPDATE hold t
    SET state = h.state, ends_at = h.ends_at, ended_at = h.ended_at, reserved = h.reserved
    FROM unnest($2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::text[])
         AS h (n, state, ends_at, ended_at, reserved)
    WHERE t.subject = $1 AND t.n = h.n AND t.state = 'held'
    RETURNING 1
)
SELECT exactly((SELECT count(*) FROM changed), cardinality($2))
