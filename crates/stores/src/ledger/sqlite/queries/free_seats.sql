-- The lowest seats that came back: the partial index holds nothing else. Without being told, the
-- planner walks the primary key instead, past every sold seat.
SELECT seat FROM taken INDEXED BY taken_free WHERE event = ?1 AND kind = 'free' ORDER BY seat LIMIT ?2
