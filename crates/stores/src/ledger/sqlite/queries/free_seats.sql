-- The lowest freed seats: the partial index contains nothing else. Without INDEXED BY the planner scans the
-- primary key instead, past every sold seat.
SELECT seat FROM taken INDEXED BY taken_free WHERE event = ?1 AND kind = 'free' ORDER BY seat LIMIT ?2
