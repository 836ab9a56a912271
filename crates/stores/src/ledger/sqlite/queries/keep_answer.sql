-- Replaces expired answers only: a live answer was found under the lock and replayed.
INSERT OR REPLACE INTO answer (event, user, key, content, at, kept) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
