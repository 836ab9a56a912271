-- Puts a seat on hold for the first time. The primary key refuses a second owner.
INSERT INTO taken (event, seat, kind, owner, unit, unit_limit, n, at, hold, ends_at, hall_seats)
VALUES (?1, ?2, 'held', ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
