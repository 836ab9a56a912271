INSERT INTO history (event, n, what, owner, by_admin, at, hold, check_in, check_out)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
