-- The lowest gaps behind the cursor: first and last seat of each run that has no row. The rows
-- between them are walked in the order of the key and no further than the last gap that is wanted;
-- the gap behind the highest row comes last. Where nobody chose a seat there are no rows to walk.
SELECT gap.first, gap.last
FROM event e
CROSS JOIN LATERAL (
    (
        SELECT walked.before + 1 AS first, walked.seat - 1 AS last
        FROM (
            SELECT t.seat, lag(t.seat, 1, e."cursor") OVER (ORDER BY t.seat) AS before
            FROM taken t
            WHERE t.event = e.id AND t.seat > e."cursor" AND e.sold + e.held + e.came_back > e."cursor"
        ) AS walked
        WHERE walked.seat > walked.before + 1
        LIMIT $2
    )
    UNION ALL
    SELECT CASE WHEN e.sold + e.held + e.came_back > e."cursor"
                THEN greatest(e."cursor", (SELECT max(t.seat) FROM taken t WHERE t.event = e.id))
                ELSE e."cursor" END + 1,
           e.seat_count
) AS gap
WHERE e.id = $1 AND gap.first <= gap.last
