-- Subjects with history beyond the cursor of an endpoint, or that have opened since without a history row: by the wall
-- clock (?3), or because they were created open. Subjects that wait for their next attempt are left out. Those that
-- never failed come first.
SELECT told.id, coalesce(c.n, 0), coalesce(c.sold, 0), c.opened, coalesce(c.rewound, 0), coalesce(c.attempts, 0),
       told.n
FROM (
    SELECT id, n,
           CASE WHEN deleted = 0 AND ((state = 'scheduled' AND opens_at <= ?3)
                                      OR (state IN ('open', 'scheduled') AND opens_at IS NULL))
                THEN coalesce(opens_at, created_at) END AS opening
    FROM event
    UNION ALL
    SELECT -id, n, NULL FROM room_type
) AS told
LEFT JOIN webhook_cursor AS c ON c.webhook = ?1 AND c.subject = told.id
WHERE (told.n > coalesce(c.n, 0) OR (told.opening IS NOT NULL AND told.opening IS NOT c.opened))
  AND coalesce(c.next_at <= ?2, 1)
ORDER BY c.next_at NULLS FIRST, told.id LIMIT ?4
