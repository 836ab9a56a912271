-- Every token, and the time: whether a token has ended is decided by the ledger's clock, which a server that just
-- started has not seen yet. Without tokens there is one row with the time alone.
SELECT digest, name, role, made_at, made_by, ends_at, ended_by, now.ms
FROM (SELECT ledger_now()) AS now (ms) LEFT JOIN admin_token ON true
ORDER BY made_at, digest
