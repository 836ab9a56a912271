-- Replaces only what is past its age: a live answer was found under the lock and repeated.
INSERT OR REPLACE INTO answer (event, user, key, content, at, kept) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
