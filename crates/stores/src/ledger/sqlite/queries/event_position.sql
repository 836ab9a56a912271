-- The number of its newest history row.
SELECT n FROM event WHERE id = ?1
