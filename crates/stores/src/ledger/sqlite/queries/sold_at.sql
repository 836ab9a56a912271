-- How many seats were sold at a row of the history; none: the history is not that long.
SELECT (SELECT count(*) FILTER (WHERE what = 'reserved') - count(*) FILTER (WHERE what = 'cancelled')
        FROM history WHERE event = told.id AND history.n <= ?2)
FROM (SELECT id, n FROM event WHERE id = ?1 UNION ALL SELECT -id, n FROM room_type WHERE id = -?1) AS told
WHERE told.n >= ?2
