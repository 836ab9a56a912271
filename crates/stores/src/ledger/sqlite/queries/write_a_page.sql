-- One page of the log, to see whether the ledger can be written. Nothing changes.
UPDATE ledger SET id = id
