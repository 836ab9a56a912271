-- The ledger's secret: the one it has, or else this one from now on. Of two servers at once the second
-- waits for the first one's row lock and gets its secret.
UPDATE ledger SET secret = coalesce(secret, $1) RETURNING secret
