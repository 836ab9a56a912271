-- All tokens, and the time: the ledger's clock decides whether a token has expired, and a server that just started has
-- not read it yet. Without tokens there is one row with the time alone.
SELECT digest, name, role, made_at, made_by, ends_at, ended_by, now.ms
FROM (SELECT ledger_now()) AS now (ms) LEFT JOIN admin_token ON true
ORDER BY made_at, digest
