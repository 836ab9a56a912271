-- The oldest rows of a subject that were not processed yet. Times do not decrease within a subject.
SELECT n, seat FROM history WHERE event = $1 AND n > $2 AND n <= $3 AND at < ledger_now() - $4::bigint ORDER BY n
