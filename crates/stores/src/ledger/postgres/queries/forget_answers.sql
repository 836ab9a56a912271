-- Garbage collection, a few rows at a time. Whether an answer is still valid depends on its age, not on this.
DELETE FROM answer WHERE ctid = ANY (ARRAY(
    SELECT old.ctid FROM unnest($1::bigint[]) AS asked (event)
    CROSS JOIN LATERAL (
        SELECT ctid FROM answer WHERE answer.event = asked.event AND at <= $2 ORDER BY at LIMIT 64
    ) AS old
))
