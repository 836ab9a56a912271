-- The live tokens of a name expire then, or earlier if they already had an earlier end; with ?4 only replaced ones.
UPDATE admin_token SET ends_at = ?2, ended_by = ?3
WHERE name = ?1 AND coalesce(ends_at, ?2 + 1) > ?2 AND (ends_at IS NOT NULL OR NOT ?4)
