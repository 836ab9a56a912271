-- A user's entries do not overlap: each starts after the previous one has ended.
SELECT 'event ' || CAST(event AS TEXT) || ': a user has number ' || CAST(number AS TEXT) || ' while number '
       || CAST(before AS TEXT) || ' lasts'
FROM (
    SELECT event, number, begins,
           lag(number) OVER (PARTITION BY event, user_id ORDER BY begins, n) AS before,
           lag(coalesce(over_at, ends)) OVER (PARTITION BY event, user_id ORDER BY begins, n) AS before_ends
    FROM entry
) following
WHERE before_ends > begins
LIMIT 5
