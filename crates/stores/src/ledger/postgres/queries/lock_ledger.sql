-- Takes the row lock of the ledger's own history, and reads the time.
SELECT n, head, ledger_now() FROM ledger WHERE only_row = 1 FOR NO KEY UPDATE
