-- History rows of all subjects, or of one. Parameters: the lowest and the highest subject, where to begin, the limit.
SELECT event, n, what, seat, owner, by_admin, number, at, hold, check_in, check_out, by_name,
       details, trace, detail, address, erased IS NOT NULL, hash
FROM history
WHERE event BETWEEN $1::bigint AND $2::bigint AND (event, n) > ($3::bigint, $4::bigint)
ORDER BY event, n LIMIT $5
