-- Writes one page of the log, to test whether the ledger accepts writes. It changes nothing.
UPDATE ledger SET id = id
