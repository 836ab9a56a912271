-- Subjects with history beyond the cursor of an endpoint, or that have opened since without a history row: by the
-- clock, or because they were created open. Subjects that wait for their next attempt are left out. Those that never
-- failed come first.
SELECT told.id, coalesce(c.n, 0), coalesce(c.sold, 0), c.opened, coalesce(c.rewound, 0), coalesce(c.attempts, 0),
       told.n
FROM (
    SELECT id, n,
           CASE WHEN NOT deleted AND ((state = 'scheduled' AND opens_at <= ledger_now())
                                      OR (state IN ('open', 'scheduled') AND opens_at IS NULL))
                THEN coalesce(opens_at, created_at) END AS opening
    FROM event
    UNION ALL
    SELECT -id, n, NULL FROM room_type
) AS told
LEFT JOIN webhook_cursor AS c ON c.webhook = $1::bigint AND c.subject = told.id
WHERE (told.n > coalesce(c.n, 0) OR (told.opening IS NOT NULL AND told.opening IS DISTINCT FROM c.opened))
  AND coalesce(c.next_at <= ledger_now(), true)
ORDER BY c.next_at NULLS FIRST, told.id LIMIT $2::bigint
