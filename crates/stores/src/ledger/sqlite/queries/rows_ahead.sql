-- Rows behind the cursor, in order, read until enough gaps were seen between them.
SELECT seat FROM taken WHERE event = ?1 AND seat > ?2 ORDER BY seat
