-- Tidying, a few at a time. Whether an answer still counts is decided by its age, not by this.
DELETE FROM answer WHERE ctid = ANY (ARRAY(
    SELECT old.ctid FROM unnest($1::bigint[]) AS asked (event)
    CROSS JOIN LATERAL (
        SELECT ctid FROM answer WHERE answer.event = asked.event AND at <= $2 ORDER BY at LIMIT 64
    ) AS old
))
