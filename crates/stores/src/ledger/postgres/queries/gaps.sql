-- The gaps above the cursor: first and last seat of each range without a row, and finally how far the scan came. The
-- scan follows the primary key over at most $2 rows. Nothing is scanned if every seat has a row, or if no seat above
-- the cursor was chosen.
WITH ahead AS MATERIALIZED (
    SELECT t.seat, lag(t.seat, 1, e."cursor") OVER (ORDER BY t.seat) AS before
    FROM event e
    CROSS JOIN LATERAL (
        SELECT seat FROM taken
        WHERE taken.event = e.id AND taken.seat > e."cursor" ORDER BY seat LIMIT $2
    ) AS t
    WHERE e.id = $1 AND e.sold + e.held + e.came_back < e.seat_count AND e.sold + e.held + e.came_back > e."cursor"
)
SELECT before + 1 AS first, seat - 1 AS last, false AS scanned FROM ahead WHERE seat > before + 1
UNION ALL
SELECT (SELECT max(seat) FROM ahead), (SELECT count(*)::integer FROM ahead), true
