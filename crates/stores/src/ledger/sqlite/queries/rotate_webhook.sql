-- The old secret also signs for ?3 ms after ?4; an older one no longer does.
UPDATE webhook SET old_secret = CASE WHEN ?3 > 0 THEN secret END, old_ends_at = CASE WHEN ?3 > 0 THEN ?4 + ?3 END,
                   secret = ?2
WHERE id = ?1
