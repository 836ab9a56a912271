-- Only the server that has the lease moves a cursor, and only if it was not rewound since it was read. $9: the next
-- item failed, and is retried after this many ms. The time of failing is counted from the first attempt after the last
-- success.
INSERT INTO webhook_cursor AS c (webhook, subject, n, sold, opened, attempts, next_at, failing_since)
SELECT id, $3::bigint, $4::bigint, $5::bigint, $6::bigint, $8::integer, ledger_now() + $9::bigint,
       CASE WHEN $8::integer > 0 THEN ledger_now() END
FROM webhook WHERE id = $1::bigint AND holder = $2::text
ON CONFLICT (webhook, subject) DO UPDATE
SET n = excluded.n, sold = excluded.sold, opened = excluded.opened, attempts = excluded.attempts,
    next_at = excluded.next_at,
    failing_since = CASE WHEN excluded.attempts > 1 THEN coalesce(c.failing_since, excluded.failing_since)
                         ELSE excluded.failing_since END
WHERE c.rewound = $7::bigint
RETURNING failing_since, ledger_now()
