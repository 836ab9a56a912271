-- A new endpoint receives what happens from now on: its cursors are at the newest row of every existing subject.
-- Openings in the past are not delivered either.
INSERT INTO webhook_cursor (webhook, subject, n, sold, opened)
SELECT ?1, id, n, sold,
       CASE WHEN (state = 'scheduled' AND opens_at <= ?2) OR (state IN ('open', 'scheduled') AND opens_at IS NULL)
            THEN coalesce(opens_at, created_at) END
FROM event
UNION ALL
SELECT ?1, -id, n, 0, NULL FROM room_type
