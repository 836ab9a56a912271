-- Every current sale has a history row with its number, the same seat and the same owner.
SELECT 'event ' || CAST(t.event AS TEXT) || ' seat ' || CAST(t.seat AS TEXT) || ' was sold by number '
       || CAST(t.n AS TEXT) || ', which the history does not tell'
FROM taken t
LEFT JOIN history h ON h.event = t.event AND h.n = t.n AND h.seat = t.seat AND h.what = 'reserved'
    AND coalesce(h.owner, '') = coalesce(t.owner, '')
WHERE t.kind = 'sold' AND h.n IS NULL
LIMIT 5
