-- Moves the cursor back to ?3, where ?4 seats were sold. From the beginning the opening is delivered again, too. A
-- subject without a cursor may have a delivery in flight: what that has read was before the rewind.
INSERT INTO webhook_cursor (webhook, subject, n, sold, rewound) SELECT id, ?2, ?3, ?4, 1 FROM webhook WHERE id = ?1
ON CONFLICT (webhook, subject) DO UPDATE
SET n = excluded.n, sold = excluded.sold, rewound = webhook_cursor.rewound + 1, attempts = 0, next_at = NULL,
    failing_since = NULL, opened = CASE WHEN excluded.n > 0 THEN webhook_cursor.opened END
