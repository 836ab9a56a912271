INSERT INTO history (event, n, what, seat, owner, by_admin, number, at, hold)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
