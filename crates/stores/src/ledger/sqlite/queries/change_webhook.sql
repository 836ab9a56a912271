-- A null parameter changes nothing. A state comes with its reason.
UPDATE webhook SET url = coalesce(?2, url), types = coalesce(?3, types), state = coalesce(?4, state),
                   why = CASE WHEN ?4 IS NULL THEN why ELSE ?5 END
WHERE id = ?1
