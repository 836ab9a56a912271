-- The answers stored for these subjects, users and idempotency keys: one probe each.
SELECT a.user_id, a.key, a.content, a.at, a.kept, a.event
FROM unnest($1::bigint[], $2::text[], $3::text[]) AS asked (event, user_id, key)
CROSS JOIN LATERAL (
    SELECT * FROM answer
    WHERE answer.event = asked.event AND answer.user_id = asked.user_id AND answer.key = asked.key OFFSET 0
) AS a
