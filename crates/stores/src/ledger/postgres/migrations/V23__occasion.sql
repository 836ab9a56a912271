-- When and where an event takes place, for its buyers to read.
ALTER TABLE event ADD COLUMN starts_at bigint;
ALTER TABLE event ADD COLUMN time_zone text;
ALTER TABLE event ADD COLUMN place text;
