-- One server on one file decides by arrival number, retries included: the numbers of an event's sales increase along
-- the history.
SELECT 'event ' || event || ' served number ' || earlier || ' before ' || number
FROM (SELECT event, number, max(number) OVER served AS earlier
      FROM history
      WHERE what = 'reserved' AND number IS NOT NULL
      WINDOW served AS (PARTITION BY event ORDER BY n ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING))
WHERE number < earlier
LIMIT 5
