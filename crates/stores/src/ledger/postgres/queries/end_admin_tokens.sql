-- The live tokens of a name expire then, or earlier if they already had an earlier end; with $4 only those that were
-- replaced. Returns how many there were.
WITH ended AS (
    UPDATE admin_token SET ends_at = $2::bigint, ended_by = $3::text
    WHERE name = $1::text AND coalesce(ends_at, $2::bigint + 1) > $2::bigint AND (ends_at IS NOT NULL OR NOT $4::boolean)
    RETURNING 1
)
SELECT count(*) FROM ended
