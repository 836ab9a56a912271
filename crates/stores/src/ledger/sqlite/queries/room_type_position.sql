-- The number of its newest history row.
SELECT n FROM room_type WHERE id = ?1
