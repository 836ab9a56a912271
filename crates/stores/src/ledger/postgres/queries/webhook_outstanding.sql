SELECT coalesce(sum(greatest(told.n - coalesce(c.n, 0), 0)), 0)::bigint
FROM (SELECT id, n FROM event UNION ALL SELECT -id, n FROM room_type) AS told
LEFT JOIN webhook_cursor AS c ON c.webhook = $1::bigint AND c.subject = told.id
