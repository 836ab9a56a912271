-- The room type's row. BEGIN IMMEDIATE excludes other writers, so this read is under the lock.
SELECT id, name, description, price, time_zone, total, created_at, n, counted_to, counted_place, currency FROM room_type WHERE id = ?1
