-- The old secret signs beside the new one for ?3 ms from ?4 on; an older one does not any more.
UPDATE webhook SET old_secret = CASE WHEN ?3 > 0 THEN secret END, old_ends_at = CASE WHEN ?3 > 0 THEN ?4 + ?3 END,
                   secret = ?2
WHERE id = ?1
