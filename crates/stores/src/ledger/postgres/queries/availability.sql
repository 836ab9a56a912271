-- One statement, so one snapshot: the room type (0), the nights that have a row (1), and by dates the number of expired
-- holds that are not in the sums of their nights yet (2). `coalesce` keeps the planner from using hold_nights, by which
-- it would read every hold that was already counted.
WITH now AS MATERIALIZED (SELECT ledger_now() AS ms)
SELECT 0 AS kind, 0 AS a, 0 AS b, 0 AS c, 0 AS d, 0 AS e, (SELECT ms FROM now) AS ms,
       id, name, description, price, time_zone, total, created_at, n, changed_at, counted_to, counted_place, currency
FROM room_type WHERE id = $1
UNION ALL
SELECT 1, day, total, reserved, held, lapsed, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
FROM night WHERE room_type = $1 AND day >= $2 AND day < $3
UNION ALL
SELECT 2, check_in, check_out, count(*)::integer, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
FROM hold
WHERE subject = -$1::bigint AND state = 'held' AND ends_at <= (SELECT ms FROM now)
  AND (ends_at, n) > ((SELECT counted_to FROM room_type WHERE id = $1), (SELECT counted_place FROM room_type WHERE id = $1))
  AND coalesce(check_in, 0) < $3 AND coalesce(check_out, 0) > $2
GROUP BY check_in, check_out
