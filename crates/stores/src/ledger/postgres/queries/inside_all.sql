-- How many are inside each waiting room, and the sum of their history numbers.
SELECT e.id, count(t.n), coalesce(sum(t.n), 0)::bigint
FROM event e
LEFT JOIN LATERAL (
    SELECT n FROM entry WHERE event = e.id AND over_at IS NULL AND ends > (SELECT ledger_now()) OFFSET 0
) AS t ON true
WHERE e.room_most IS NOT NULL AND NOT e.deleted
GROUP BY e.id
