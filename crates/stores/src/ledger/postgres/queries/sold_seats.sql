-- The history number and the seats in one statement, so from one snapshot.
SELECT e.n, e.seat_count, coalesce((SELECT array_agg(t.seat ORDER BY t.seat) FROM taken t WHERE t.event = e.id AND t.kind = 'sold'), '{}')
FROM event e WHERE e.id = $1
