-- Numbers 1 to n, each once.
SELECT 'event ' || CAST(e.id AS TEXT) || ' is at number ' || CAST(e.n AS TEXT) || ', its history has '
       || CAST(coalesce(h.entries, 0) AS TEXT) || ' rows up to ' || CAST(coalesce(h.newest, 0) AS TEXT)
FROM event e
LEFT JOIN (SELECT event, count(*) AS entries, min(n) AS oldest, max(n) AS newest FROM history GROUP BY event) h
    ON h.event = e.id
WHERE coalesce(h.entries, 0) <> e.n OR coalesce(h.newest, 0) <> e.n OR coalesce(h.oldest, 1) <> 1
LIMIT 5
