-- The primary key refuses a used number, and entry_user a second live entry of one user.
INSERT INTO entry (event, number, user_id, token, n, begins, ends, cap, nth, most)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
