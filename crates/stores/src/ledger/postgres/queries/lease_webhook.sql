-- One server at a time: the one that has the lease, or the first to ask after it has expired.
UPDATE webhook SET holder = $2::text, held_until = ledger_now() + $3::bigint
WHERE id = $1::bigint AND state = 'enabled' AND (holder IS NULL OR holder = $2::text OR held_until <= ledger_now())
RETURNING id
