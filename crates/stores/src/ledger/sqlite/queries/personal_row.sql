-- What may be personal in a row of history. Without a salt there is nothing, or nothing any more.
SELECT address, details, salt FROM history WHERE event = ?1 AND n = ?2
