-- When and where an event takes place, for its buyers to read.
ALTER TABLE event ADD COLUMN starts_at INTEGER;
ALTER TABLE event ADD COLUMN time_zone TEXT;
ALTER TABLE event ADD COLUMN place TEXT;
