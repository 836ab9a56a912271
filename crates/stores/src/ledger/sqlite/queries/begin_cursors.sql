-- A new endpoint is told from now on: a cursor at the newest row of every subject that there is. Openings that have
-- passed are old news, too.
INSERT INTO webhook_cursor (webhook, subject, n, sold, opened)
SELECT ?1, id, n, sold,
       CASE WHEN (state = 'scheduled' AND opens_at <= ?2) OR (state IN ('open', 'scheduled') AND opens_at IS NULL)
            THEN coalesce(opens_at, created_at) END
FROM event
UNION ALL
SELECT ?1, -id, n, 0, NULL FROM room_type
