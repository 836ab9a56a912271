-- The ledger's secret: the one it has, or else this one from now on.
UPDATE ledger SET secret = coalesce(secret, ?1) RETURNING secret
