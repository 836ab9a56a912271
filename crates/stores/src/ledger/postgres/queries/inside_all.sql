-- How many are inside each waiting room, and the sum of their history numbers.
SELECT e.id, count(t.n), coalesce(sum(t.n), 0)::bigint
FROM event e
LEFT JOIN entry t ON t.event = e.id AND t.over_at IS NULL AND t.ends > (SELECT ledger_now())
WHERE e.room_most IS NOT NULL AND NOT e.deleted
GROUP BY e.id
