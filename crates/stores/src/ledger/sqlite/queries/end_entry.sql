UPDATE entry SET over_at = ?3 WHERE event = ?1 AND number = ?2 AND over_at IS NULL
