-- Creates an endpoint that receives what happens from now on: its cursors are at the newest row of every existing
-- subject. Openings in the past are not delivered either.
WITH made AS (
    INSERT INTO webhook (url, types, state, secret, made_at, made_by)
    VALUES ($1::text, $2::text, $3::text, $4::bytea, ledger_now(), $5::text)
    RETURNING id, url, types, state, why, secret, old_secret, old_ends_at, made_at, made_by
), cursors AS (
    INSERT INTO webhook_cursor (webhook, subject, n, sold, opened)
    SELECT made.id, event.id, event.n, event.sold,
           CASE WHEN (state = 'scheduled' AND opens_at <= ledger_now()) OR (state IN ('open', 'scheduled') AND opens_at IS NULL)
                THEN coalesce(opens_at, created_at) END
    FROM event CROSS JOIN (SELECT id FROM made) AS made
    UNION ALL
    SELECT made.id, -room_type.id, room_type.n, 0, NULL FROM room_type CROSS JOIN (SELECT id FROM made) AS made
)
SELECT * FROM made
