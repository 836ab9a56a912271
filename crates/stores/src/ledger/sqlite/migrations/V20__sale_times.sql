-- When an event sold its first seat, while it has sold any, and since when every seat is sold. Written with the counts.
ALTER TABLE event ADD COLUMN first_sold_at INTEGER;
ALTER TABLE event ADD COLUMN sold_out_at INTEGER;
