-- A new token under a name that no live one has.
INSERT INTO admin_token (digest, name, role, made_at, made_by)
SELECT $1::bytea, $2::text, $3::text, $4::bigint, $5::text
WHERE NOT EXISTS (SELECT FROM admin_token WHERE name = $2 AND ends_at IS NULL)
ON CONFLICT (digest) DO NOTHING
RETURNING name
