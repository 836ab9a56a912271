-- Several servers may write in turn, and do not order requests that overlap. Within one batch, whose first row carries
-- its id, the numbers increase.
SELECT 'event ' || event || ' served number ' || earlier || ' before ' || number || ' in one batch'
FROM (SELECT event, number,
             max(number) OVER (PARTITION BY event, batch_no ORDER BY n
                               ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS earlier
      FROM (SELECT event, n, what, number, count(batch) OVER (PARTITION BY event ORDER BY n) AS batch_no
            FROM history) AS rows_of_batches
      WHERE what = 'reserved' AND number IS NOT NULL) AS served
WHERE number < earlier
LIMIT 5
