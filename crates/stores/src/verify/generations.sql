-- No number belongs to a generation that the ledger does not know. After a restore from a backup the door may know a
-- higher one. If the ledger did not raise its own above it, numbers would repeat once the door loses its data.
SELECT 'event ' || CAST(e.id AS TEXT) || ' has number ' || CAST(given.highest AS TEXT) || ' and generation '
       || CAST(e.generation AS TEXT)
FROM event e
JOIN (SELECT event, max(CASE WHEN number < 6000000000000000 THEN number ELSE number - 6000000000000000 END) AS highest
      FROM (SELECT event, number FROM history WHERE number IS NOT NULL
            UNION ALL
            SELECT event, number FROM entry) AS numbers
      -- Numbers in this range were drawn, and have no generation.
      WHERE number NOT BETWEEN 1000000000000000 AND 5999999999999999
      GROUP BY event) AS given ON given.event = e.id
WHERE given.highest >= (CASE WHEN e.generation < 0 THEN 0 ELSE e.generation END + 1) * 1000000000
LIMIT 5
