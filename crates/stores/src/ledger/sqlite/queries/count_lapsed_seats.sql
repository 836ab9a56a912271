-- A step of counting: the next seats on expired holds beyond the mark. The index is covering.
SELECT ends_at, seat FROM taken INDEXED BY taken_held
WHERE event = ?1 AND kind = 'held' AND (ends_at, seat) > (?2, ?3) AND ends_at <= ?4 ORDER BY ends_at, seat LIMIT ?5
