-- Every stay agrees with the history row of its confirmation in owner, hold and dates. Every such row has its stay,
-- because stays are never removed. A stay is cancelled if the history has one cancellation, else it has none. A
-- cancellation names the hold, and a hold becomes one stay. Room types are negative in the history.
SELECT 'room type ' || CAST(s.room_type AS TEXT) || ' stay ' || CAST(s.n AS TEXT) || ' is not what its history row says'
FROM stay s
LEFT JOIN history h ON h.event = -s.room_type AND h.n = s.n AND h.what = 'reserved' AND h.hold = s.hold
    AND h.owner = s.owner AND h.check_in = s.check_in AND h.check_out = s.check_out
WHERE h.n IS NULL
UNION ALL
SELECT 'room type ' || CAST(-h.event AS TEXT) || ' history number ' || CAST(h.n AS TEXT) || ' tells of a stay that is not there'
FROM history h
LEFT JOIN stay s ON s.room_type = -h.event AND s.n = h.n
WHERE h.event < 0 AND h.what = 'reserved' AND s.n IS NULL
UNION ALL
SELECT 'room type ' || CAST(s.room_type AS TEXT) || ' stay ' || CAST(s.n AS TEXT)
       || CASE WHEN s.cancelled_at IS NULL THEN ' stands' ELSE ' is cancelled' END || ', the history tells of '
       || CAST(coalesce(c.times, 0) AS TEXT) || ' cancellations'
FROM stay s
LEFT JOIN (
    SELECT event, hold, count(*) AS times FROM history WHERE event < 0 AND what = 'cancelled' GROUP BY event, hold
) c ON c.event = -s.room_type AND c.hold = s.hold
WHERE coalesce(c.times, 0) <> CASE WHEN s.cancelled_at IS NULL THEN 0 ELSE 1 END
LIMIT 5
