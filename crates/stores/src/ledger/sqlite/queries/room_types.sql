SELECT id, name, description, price, time_zone, total, created_at, n, counted_to, counted_place, currency FROM room_type WHERE id > ?1 ORDER BY id LIMIT ?2
