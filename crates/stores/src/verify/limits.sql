-- A user has no more seats than the highest limit under which any of them was sold or held, and no unit twice.
SELECT 'event ' || CAST(event AS TEXT) || ': a user has ' || CAST(count(*) AS TEXT) || ' seats, the limit was '
       || CAST(max(unit_limit) AS TEXT)
FROM taken
WHERE owner IS NOT NULL
GROUP BY owner, event
HAVING count(*) > max(unit_limit) OR count(DISTINCT unit) < count(*)
LIMIT 5
