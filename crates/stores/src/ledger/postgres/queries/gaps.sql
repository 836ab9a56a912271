-- The lowest gaps above the cursor: first and last seat of each range that has no row. The scan follows the
-- primary key and stops after the last gap that is needed. The gap above the highest row comes last. If no
-- seat above the cursor was chosen there are no rows to scan.
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
