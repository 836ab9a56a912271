-- Moves the cursor back to $3. The number of seats sold there follows from the sales and cancellations since. Room
-- types have no such count: it shows when an event is sold out. From the beginning the opening is delivered again, too.
-- A subject without a cursor may have a delivery in flight: what that has read was before the rewind.
INSERT INTO webhook_cursor AS c (webhook, subject, n, sold, opened, rewound)
SELECT webhook.id, told.id, $3::bigint,
       CASE WHEN told.id > 0 THEN
           told.sold - (SELECT count(*) FILTER (WHERE what = 'reserved') - count(*) FILTER (WHERE what = 'cancelled')
                        FROM history WHERE history.event = told.id AND history.n > $3::bigint AND history.n <= told.n)
       ELSE 0 END,
       NULL, 1
FROM webhook
CROSS JOIN (
    SELECT id, n, sold FROM event WHERE id = $2::bigint
    UNION ALL
    SELECT -id, n, 0 FROM room_type WHERE id = -$2::bigint
) AS told
WHERE webhook.id = $1::bigint AND told.n >= $3::bigint
ON CONFLICT (webhook, subject) DO UPDATE
SET n = excluded.n, sold = excluded.sold, rewound = c.rewound + 1, attempts = 0, next_at = NULL, failing_since = NULL,
    opened = CASE WHEN excluded.n > 0 THEN c.opened END
RETURNING subject
