-- The old secret signs beside the new one for $3 ms; an older one does not any more.
UPDATE webhook SET old_secret = CASE WHEN $3::bigint > 0 THEN secret END,
                   old_ends_at = CASE WHEN $3::bigint > 0 THEN ledger_now() + $3::bigint END, secret = $2::bytea
WHERE id = $1::bigint RETURNING id
