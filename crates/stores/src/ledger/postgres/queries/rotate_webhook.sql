-- The old secret also signs for $3 ms; an older one no longer does.
UPDATE webhook SET old_secret = CASE WHEN $3::bigint > 0 THEN secret END,
                   old_ends_at = CASE WHEN $3::bigint > 0 THEN ledger_now() + $3::bigint END, secret = $2::bytea
WHERE id = $1::bigint RETURNING id
