-- Adds differences to the counts, and sets a new total where one is given. Each row's checks refuse a count
-- below zero or above the total. Each row is found by an index probe. The arrays: see sell.
WITH shifted AS (
    UPDATE night t
    SET reserved = t.reserved + s.reserved, held = t.held + s.held, lapsed = t.lapsed + s.lapsed,
        total = coalesce(s.total, t.total)
    FROM (
        SELECT unnest($1::bigint[]) AS room_type, unnest($2::integer[]) AS day, unnest($3::integer[]) AS reserved,
               unnest($4::integer[]) AS held, unnest($5::integer[]) AS total, unnest($6::integer[]) AS lapsed
    ) AS s
    CROSS JOIN LATERAL (
        SELECT ctid FROM night WHERE night.room_type = s.room_type AND night.day = s.day OFFSET 0
    ) AS place
    WHERE t.ctid = place.ctid
    RETURNING 1
)
SELECT exactly((SELECT count(*) FROM shifted), cardinality($2))
