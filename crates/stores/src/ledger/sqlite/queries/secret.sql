-- The ledger's secret. If it has none, this one is stored.
UPDATE ledger SET secret = coalesce(secret, ?1) RETURNING secret
