-- The last write of a batch. The old history number guards against a second writer.
UPDATE event SET n = ?3, "cursor" = ?4, sold = ?5, held = ?6, came_back = ?7, inside = ?8,
    changed_at = max(changed_at, ?9), lapsed = ?10, counted_to = ?11, counted_place = ?12, head = ?13,
    first_sold_at = CASE WHEN ?5 > 0 THEN coalesce(first_sold_at, ?9) END,
    sold_out_at = CASE WHEN ?5 = seat_count THEN coalesce(sold_out_at, ?9) END
WHERE id = ?1 AND n = ?2
