-- A row that is not hit is not there; one that has ended already refuses by itself. Found by a probe of
-- the key each, because the planner may prefer to read every hold of the subject for every one of them;
-- under the subject's lock no row moves in between.
WITH changed AS (
    UPDATE hold t
    SET state = h.state, ends_at = h.ends_at, ended_at = h.ended_at, reserved = h.reserved
    FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::text[])
         AS h (subject, n, state, ends_at, ended_at, reserved)
    CROSS JOIN LATERAL (SELECT ctid FROM hold WHERE hold.subject = h.subject AND hold.n = h.n OFFSET 0) AS place
    WHERE t.ctid = place.ctid
    RETURNING 1
)
SELECT exactly((SELECT count(*) FROM changed), cardinality($2))
