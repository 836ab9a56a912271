INSERT INTO hold (subject, n, owner, key, stock, check_in, check_out, first_at, at, ends_at, state, ended_at, reserved)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
