INSERT INTO webhook (url, types, state, secret, made_at, made_by) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
