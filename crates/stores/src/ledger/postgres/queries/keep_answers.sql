-- Replaces expired answers only: a live answer was found under the lock and replayed. The arrays: see sell.
INSERT INTO answer (event, user_id, key, content, at, kept)
SELECT unnest($1::bigint[]), unnest($2::text[]), unnest($3::text[]), unnest($4::bytea[]), unnest($5::bigint[]), unnest($6::text[])
ON CONFLICT (event, user_id, key) DO UPDATE SET content = excluded.content, at = excluded.at, kept = excluded.kept
