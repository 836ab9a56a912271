-- The number of the newest history row of each subject; room types are negative. Every row has the current time, so
-- that the clock between two replies follows the database's.
SELECT id, n, ledger_now() FROM event WHERE id = ANY($1)
UNION ALL
SELECT -id, n, ledger_now() FROM room_type WHERE id = ANY($2)
