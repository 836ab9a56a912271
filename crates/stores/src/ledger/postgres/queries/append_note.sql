-- Appends a row to the ledger's own history. The caller has locked its row in `ledger`.
INSERT INTO history (event, n, what, owner, by_admin, by_name, at, trace, detail, address, salt, hash)
VALUES (0, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
