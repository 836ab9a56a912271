INSERT INTO room_type (name, description, price, currency, time_zone, total, created_at, changed_at, n)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, 1)
RETURNING id
