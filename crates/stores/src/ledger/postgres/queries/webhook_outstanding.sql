-- The number of history rows beyond the cursors of an endpoint, and the time of the oldest of them: the first row of
-- each subject is found by its number.
SELECT coalesce(sum(late.n - late.told), 0)::bigint, min(h.at)
FROM (
    SELECT s.id, s.n, coalesce(c.n, 0) AS told
    FROM (SELECT id, n FROM event UNION ALL SELECT -id, n FROM room_type) AS s
    LEFT JOIN webhook_cursor AS c ON c.webhook = $1::bigint AND c.subject = s.id
    WHERE s.n > coalesce(c.n, 0)
) AS late
LEFT JOIN history AS h ON h.event = late.id AND h.n = late.told + 1
