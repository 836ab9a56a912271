-- The number of seats on expired holds that are not marked free yet.
SELECT count(*) FROM taken INDEXED BY taken_held WHERE event = ?1 AND kind = 'held' AND ends_at <= ?2
