-- The primary key says the same; this asks the rows themselves, in case the key was damaged.
SELECT 'event ' || CAST(event AS TEXT) || ' number ' || CAST(number AS TEXT) || ' entered ' || CAST(count(*) AS TEXT) || ' times'
FROM entry
GROUP BY event, number
HAVING count(*) > 1
LIMIT 5
