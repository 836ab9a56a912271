-- The live tokens of a name end then, or earlier if they were to; with ?4 only those that were replaced.
UPDATE admin_token SET ends_at = ?2, ended_by = ?3
WHERE name = ?1 AND coalesce(ends_at, ?2 + 1) > ?2 AND (ends_at IS NOT NULL OR NOT ?4)
