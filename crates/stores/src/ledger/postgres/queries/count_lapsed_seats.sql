-- A step of counting: the number of the next seats on expired holds beyond the mark, and the last of them. An
-- index-only scan.
WITH step AS MATERIALIZED (
    SELECT ends_at, seat FROM taken
    WHERE event = $1 AND kind = 'held' AND (ends_at, seat) > ($2::bigint, $3::integer) AND ends_at <= $4
    ORDER BY ends_at, seat LIMIT $5
)
SELECT (SELECT count(*)::integer FROM step), ends_at, seat FROM step ORDER BY ends_at DESC, seat DESC LIMIT 1
