-- Apart from the change of the table, whose lock would be held for as long. One row of the history for each, by its key.
UPDATE event SET
    first_sold_at = (SELECT h.at FROM history h WHERE h.event = event.id AND h.what = 'reserved' ORDER BY h.n LIMIT 1),
    sold_out_at = CASE WHEN sold = seat_count
        THEN (SELECT h.at FROM history h WHERE h.event = event.id AND h.what = 'reserved' ORDER BY h.n DESC LIMIT 1) END
WHERE sold > 0 AND first_sold_at IS NULL;
