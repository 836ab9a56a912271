-- Subjects whose next row to process is older than that, with the last row that was processed.
SELECT s.subject, s.erased_to
FROM (
    SELECT id AS subject, erased_to FROM event
    UNION ALL
    SELECT -id, erased_to FROM room_type
    UNION ALL
    SELECT 0, erased_to FROM ledger
) s
JOIN history h ON h.event = s.subject AND h.n = s.erased_to + 1
WHERE h.at < ?1
LIMIT 50
