INSERT INTO event (id, name, seat_count, max_per_user, opens_at, state, created_at, changed_at, n)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, 1)
RETURNING id
