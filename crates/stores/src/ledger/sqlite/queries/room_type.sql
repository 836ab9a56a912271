-- The room type's row. Under BEGIN IMMEDIATE nobody else can write, so this read is the lock's.
SELECT id, name, description, price, time_zone, total, created_at, n FROM room_type WHERE id = ?1
