-- The primary key says the same; this asks the rows themselves, in case the key was damaged.
SELECT 'event ' || CAST(event AS TEXT) || ' seat ' || CAST(seat AS TEXT) || ' stands ' || CAST(count(*) AS TEXT) || ' times'
FROM taken
GROUP BY event, seat
HAVING count(*) > 1
LIMIT 5
