-- How many seats are on holds that have lapsed and were not turned yet.
SELECT count(*) FROM taken INDEXED BY taken_held WHERE event = ?1 AND kind = 'held' AND ends_at <= ?2
