-- Answers kept for these pairs of user and key.
SELECT a.user_id, a.key, a.content, a.at, a.kept
FROM unnest($2::text[], $3::text[]) AS asked (user_id, key)
JOIN answer a ON a.event = $1 AND a.user_id = asked.user_id AND a.key = asked.key
