-- One server writes it, the others read what it wrote.
UPDATE ledger SET epoch = $1, place = $2 WHERE epoch = $3 AND place IS NOT DISTINCT FROM $4
