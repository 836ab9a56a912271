-- Every entry has a history row for its start, and every such row has an entry. The event's count is the number of
-- entries that have not ended. The entries of a deleted event may be removed.
SELECT 'event ' || CAST(t.event AS TEXT) || ' number ' || CAST(t.number AS TEXT) || ' is an entry that the history does not tell'
FROM entry t
LEFT JOIN history h ON h.event = t.event AND h.n = t.n AND h.what = 'entered' AND h.owner = t.user_id
WHERE h.n IS NULL
UNION ALL
SELECT 'event ' || CAST(h.event AS TEXT) || ' history number ' || CAST(h.n AS TEXT) || ' tells of an entry that is not there'
FROM history h
LEFT JOIN entry t ON t.event = h.event AND t.n = h.n
WHERE h.what = 'entered' AND t.n IS NULL
  AND NOT EXISTS (SELECT 1 FROM event e WHERE e.id = h.event AND e.deleted)
UNION ALL
SELECT 'event ' || CAST(e.id AS TEXT) || ' counts ' || CAST(e.inside AS TEXT) || ' inside, its entries say '
       || CAST(coalesce(t.inside, 0) AS TEXT)
FROM event e
LEFT JOIN (SELECT event, count(*) AS inside FROM entry WHERE over_at IS NULL GROUP BY event) t ON t.event = e.id
WHERE NOT e.deleted AND e.inside <> coalesce(t.inside, 0)
LIMIT 5
