-- The newest generation of arrival numbers that was raised. -1: none.
SELECT generation FROM event WHERE id = $1
