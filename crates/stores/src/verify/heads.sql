-- The newest hash in the row of every event, of every room type, and of the ledger is that of its newest history row.
SELECT s.name || ' has another head than its newest row, ' || CAST(s.n AS TEXT)
FROM (
    SELECT id AS subject, n, head, 'event ' || CAST(id AS TEXT) AS name FROM event
    UNION ALL
    SELECT -id, n, head, 'room type ' || CAST(id AS TEXT) FROM room_type
    UNION ALL
    SELECT 0, n, head, 'the ledger' FROM ledger
) s
LEFT JOIN history h ON h.event = s.subject AND h.n = s.n
WHERE s.head IS DISTINCT FROM h.hash
LIMIT 5
