-- The number of seats on expired holds that are not in the event's sum yet.
SELECT count(*) FROM taken INDEXED BY taken_held
WHERE event = ?1 AND kind = 'held' AND (ends_at, seat) > (?3, ?4) AND ends_at <= ?2
