-- Answers kept for these subjects, users and idempotency keys.
SELECT a.user_id, a.key, a.content, a.at, a.kept, a.event
FROM unnest($1::bigint[], $2::text[], $3::text[]) AS asked (event, user_id, key)
JOIN answer a ON a.event = asked.event AND a.user_id = asked.user_id AND a.key = asked.key
