-- A null parameter changes nothing. A state comes with its reason; enabling resets the failures.
WITH changed AS (
    UPDATE webhook SET url = coalesce($2::text, url), types = coalesce($3::text, types), state = coalesce($4::text, state),
                       why = CASE WHEN $4::text IS NULL THEN why ELSE $5::text END
    WHERE id = $1::bigint RETURNING id
), forgotten AS (
    UPDATE webhook_cursor SET attempts = 0, next_at = NULL, failing_since = NULL
    WHERE webhook = $1::bigint AND $4::text = 'enabled' AND attempts > 0
)
SELECT id FROM changed
