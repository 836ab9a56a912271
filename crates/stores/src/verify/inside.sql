-- An entry counts from its start until it ends or is given back. No admission exceeded the limit of its time. At the
-- same millisecond, ends come before starts.
SELECT 'event ' || CAST(event AS TEXT) || ' let number ' || CAST(number AS TEXT) || ' in as the '
       || CAST(inside AS TEXT) || 'th of ' || CAST(most AS TEXT)
FROM (
    SELECT event, number, most, step,
           sum(step) OVER (PARTITION BY event ORDER BY at, step, n ROWS UNBOUNDED PRECEDING) AS inside
    FROM (
        SELECT event, number, most, n, begins AS at, 1 AS step FROM entry
        UNION ALL
        SELECT event, number, most, n, coalesce(over_at, ends), -1 FROM entry
    ) moves
) counted
WHERE step = 1 AND inside > most
LIMIT 5
