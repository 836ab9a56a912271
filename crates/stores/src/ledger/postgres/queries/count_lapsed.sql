-- A step of counting: the next expired holds beyond the mark, by dates, with the last of them and their number. An
-- index-only scan.
WITH step AS MATERIALIZED (
    SELECT ends_at, n, check_in, check_out FROM hold
    WHERE subject = $1 AND state = 'held' AND (ends_at, n) > ($2::bigint, $3::bigint) AND ends_at <= $4
    ORDER BY ends_at, n LIMIT $5
), last AS (
    SELECT ends_at, n FROM step ORDER BY ends_at DESC, n DESC LIMIT 1
)
SELECT step.check_in, step.check_out, count(*)::integer, last.ends_at, last.n
FROM step CROSS JOIN last GROUP BY step.check_in, step.check_out, last.ends_at, last.n
