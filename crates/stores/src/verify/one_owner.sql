-- No seat has two rows. The primary key enforces this; the query checks the rows, in case the index is corrupt.
SELECT 'event ' || CAST(event AS TEXT) || ' seat ' || CAST(seat AS TEXT) || ' stands ' || CAST(count(*) AS TEXT) || ' times'
FROM taken
GROUP BY event, seat
HAVING count(*) > 1
LIMIT 5
