-- The history of every event, every room type and the ledger has the numbers 1 to n, each once.
SELECT e.name || ' is at number ' || CAST(e.n AS TEXT) || ', its history has '
       || CAST(coalesce(h.entries, 0) AS TEXT) || ' rows up to ' || CAST(coalesce(h.newest, 0) AS TEXT)
FROM (
    SELECT id AS subject, n, 'event ' || CAST(id AS TEXT) AS name FROM event
    UNION ALL
    SELECT -id, n, 'room type ' || CAST(id AS TEXT) FROM room_type
    UNION ALL
    SELECT 0, n, 'the ledger' FROM ledger
) e
LEFT JOIN (SELECT event, count(*) AS entries, min(n) AS oldest, max(n) AS newest FROM history GROUP BY event) h
    ON h.event = e.subject
WHERE coalesce(h.entries, 0) <> e.n OR coalesce(h.newest, 0) <> e.n OR coalesce(h.oldest, 1) <> 1
LIMIT 5
