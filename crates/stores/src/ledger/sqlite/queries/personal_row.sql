-- What may be personal in a row of history, and the hold that it is about. Without a salt there is nothing, or nothing
-- any more.
SELECT address, details, salt, hold FROM history WHERE event = ?1 AND n = ?2
