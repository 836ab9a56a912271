-- Subjects whose next row to process is older than that, with the last row that was processed.
SELECT s.subject, s.erased_to
FROM (
    SELECT id AS subject, erased_to FROM event
    UNION ALL
    SELECT -id, erased_to FROM room_type
    UNION ALL
    SELECT 0, erased_to FROM ledger
) s
CROSS JOIN LATERAL (SELECT at FROM history WHERE event = s.subject AND n = s.erased_to + 1 OFFSET 0) AS h
WHERE h.at < ledger_now() - $1::bigint
LIMIT 50
