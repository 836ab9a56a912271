-- The last write of a batch. The old history number guards against a second writer.
UPDATE room_type
SET n = ?3, changed_at = max(changed_at, ?4), name = ?5, description = ?6, price = ?7, time_zone = ?8, total = ?9,
    counted_to = ?10, counted_place = ?11, currency = ?12, head = ?13
WHERE id = ?1 AND n = ?2
