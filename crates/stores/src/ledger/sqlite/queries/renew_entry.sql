UPDATE entry SET ends = ?3 WHERE event = ?1 AND number = ?2 AND over_at IS NULL AND ends < ?3
