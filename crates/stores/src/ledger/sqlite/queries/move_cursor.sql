-- Moves a cursor only if it was not rewound since it was read. ?8: the next item failed, and is retried this many ms
-- after ?9. The time of failing is counted from the first attempt after the last success.
INSERT INTO webhook_cursor (webhook, subject, n, sold, opened, attempts, next_at, failing_since)
SELECT id, ?2, ?3, ?4, ?5, ?7, ?9 + ?8, CASE WHEN ?7 > 0 THEN ?9 END FROM webhook WHERE id = ?1
ON CONFLICT (webhook, subject) DO UPDATE
SET n = excluded.n, sold = excluded.sold, opened = excluded.opened, attempts = excluded.attempts,
    next_at = excluded.next_at,
    failing_since = CASE WHEN excluded.attempts > 1 THEN coalesce(webhook_cursor.failing_since, excluded.failing_since)
                         ELSE excluded.failing_since END
WHERE webhook_cursor.rewound = ?6
RETURNING failing_since
