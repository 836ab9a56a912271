-- No two sales have the same arrival number.
SELECT 'event ' || CAST(event AS TEXT) || ' gave number ' || CAST(number AS TEXT) || ' to '
       || CAST(count(*) AS TEXT) || ' sales'
FROM history
WHERE number IS NOT NULL AND what = 'reserved'
GROUP BY event, number
HAVING count(*) > 1
LIMIT 5
