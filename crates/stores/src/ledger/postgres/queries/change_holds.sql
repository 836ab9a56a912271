-- Changes the state of live holds. `exactly` fails if a hold does not exist; a trigger fails if it has ended.
-- Each row is found by an index probe, because the planner may otherwise read all holds of the subject for
-- each of them. Under the subject's lock no row changes its ctid in between.
WITH changed AS (
    UPDATE hold t
    SET state = h.state, ends_at = h.ends_at, ended_at = h.ended_at, reserved = h.reserved, reason = h.reason
    FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::text[], $7::text[])
         AS h (subject, n, state, ends_at, ended_at, reserved, reason)
    CROSS JOIN LATERAL (SELECT ctid FROM hold WHERE hold.subject = h.subject AND hold.n = h.n OFFSET 0) AS place
    WHERE t.ctid = place.ctid
    RETURNING 1
)
SELECT exactly((SELECT count(*) FROM changed), cardinality($2))
