-- The fields of a history row that may be personal, and the hold of this row. Without a salt the fields are empty or
-- erased.
SELECT address, details, salt, hold FROM history WHERE event = ?1 AND n = ?2
