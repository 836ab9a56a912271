-- The requested nights of each room type of a batch: one probe of the primary key per request.
SELECT n.room_type, n.day, n.total, n.reserved, n.held, n.lapsed
FROM unnest($1::bigint[], $2::integer[], $3::integer[]) AS asked (room_type, check_in, check_out)
CROSS JOIN LATERAL (
    SELECT * FROM night
    WHERE night.room_type = asked.room_type AND day >= asked.check_in AND day < asked.check_out OFFSET 0
) AS n
