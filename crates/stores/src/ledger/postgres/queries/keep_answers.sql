-- Replaces only what is past its age: a live answer was found under the lock and repeated.
INSERT INTO answer (event, user_id, key, content, at, kept)
SELECT a.* FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bytea[], $5::bigint[], $6::text[]) AS a
ON CONFLICT (event, user_id, key) DO UPDATE SET content = excluded.content, at = excluded.at, kept = excluded.kept
