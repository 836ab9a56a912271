-- Every stay comes from one confirmed hold with the same owner and nights, which has the stay's number. Every
-- confirmed hold has its stay.
SELECT 'room type ' || CAST(s.room_type AS TEXT) || ' stay ' || CAST(s.n AS TEXT) || ' came from hold '
       || CAST(s.hold AS TEXT) || ', which is ' || coalesce(h.state, 'not there')
FROM stay s
LEFT JOIN hold h ON h.subject = -s.room_type AND h.n = s.hold AND h.owner = s.owner
    AND h.check_in = s.check_in AND h.check_out = s.check_out AND h.reserved = CAST(s.n AS TEXT)
WHERE h.n IS NULL OR h.state <> 'confirmed'
UNION ALL
SELECT 'room type ' || CAST(-h.subject AS TEXT) || ' hold ' || CAST(h.n AS TEXT) || ' was confirmed and became no stay'
FROM hold h
LEFT JOIN stay s ON s.room_type = -h.subject AND s.hold = h.n
WHERE h.subject < 0 AND h.state = 'confirmed' AND s.n IS NULL
LIMIT 5
