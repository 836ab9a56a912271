UPDATE ledger SET n = $1, head = $2 WHERE only_row = 1
