-- The ledger's secret. If it has none, this one is stored. Of two concurrent servers the second waits for the first
-- one's row lock and gets its secret.
UPDATE ledger SET secret = coalesce(secret, $1) RETURNING secret
