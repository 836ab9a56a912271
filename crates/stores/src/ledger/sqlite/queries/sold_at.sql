-- The number of seats that were sold at a row of the history. None: the history is not that long. Room types have no
-- such count: it shows when an event is sold out.
SELECT CASE WHEN told.id > 0 THEN
           (SELECT count(*) FILTER (WHERE what = 'reserved') - count(*) FILTER (WHERE what = 'cancelled')
            FROM history WHERE event = told.id AND history.n <= ?2)
       ELSE 0 END
FROM (SELECT id, n FROM event WHERE id = ?1 UNION ALL SELECT -id, n FROM room_type WHERE id = -?1) AS told
WHERE told.n >= ?2
