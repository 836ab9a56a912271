-- Creates a token that replaces the live ones of the same name, which expire at $6. The digests in $7 are tokens that
-- are not in the table, such as the configured one: they expire with the others.
WITH ended AS (
    UPDATE admin_token SET ends_at = $6::bigint, ended_by = $5::text
    WHERE name = $2::text AND coalesce(ends_at, $6::bigint + 1) > $6::bigint
), retired AS (
    INSERT INTO admin_token (digest, name, role, made_at, made_by, ends_at, ended_by)
    SELECT old, $2::text, $3::text, $4::bigint, $5::text, $6::bigint, $5::text FROM unnest($7::bytea[]) AS old
    ON CONFLICT (digest) DO NOTHING
)
INSERT INTO admin_token (digest, name, role, made_at, made_by)
VALUES ($1::bytea, $2::text, $3::text, $4::bigint, $5::text)
RETURNING name
