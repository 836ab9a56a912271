SELECT id FROM event WHERE deleted AND tidied_at IS NULL AND changed_at <= ledger_now() - $1 ORDER BY id LIMIT $2
