-- Sells a seat for the first time. The primary key refuses a second owner.
INSERT INTO taken (event, seat, kind, owner, unit, unit_limit, n, at, number, buyer, phone, hall_seats)
VALUES (?1, ?2, 'sold', ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
