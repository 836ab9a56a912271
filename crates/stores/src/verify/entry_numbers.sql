-- No number enters twice. The primary key enforces this; the query checks the rows, in case the index is corrupt.
SELECT 'event ' || CAST(event AS TEXT) || ' number ' || CAST(number AS TEXT) || ' entered ' || CAST(count(*) AS TEXT) || ' times'
FROM entry
GROUP BY event, number
HAVING count(*) > 1
LIMIT 5
