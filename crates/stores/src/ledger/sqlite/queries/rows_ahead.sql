-- Rows above the cursor, in order, up to a limit. The caller reads them until it has seen enough gaps.
SELECT seat FROM taken WHERE event = ?1 AND seat > ?2 ORDER BY seat LIMIT ?3
