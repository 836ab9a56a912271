-- When an event sold its first seat, while it has sold any, and since when every seat is sold. Written with the counts.
ALTER TABLE event ADD COLUMN first_sold_at INTEGER;
ALTER TABLE event ADD COLUMN sold_out_at INTEGER;

UPDATE event SET
    first_sold_at = (SELECT h.at FROM history h WHERE h.event = event.id AND h.what = 'reserved' ORDER BY h.n LIMIT 1),
    sold_out_at = CASE WHEN sold = seat_count
        THEN (SELECT max(t.at) FROM taken t WHERE t.event = event.id AND t.kind = 'sold') END
WHERE sold > 0;
