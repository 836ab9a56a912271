-- Whether an answer is still valid depends on its age, not on this.
DELETE FROM answer WHERE (event, user, key) IN (
    SELECT event, user, key FROM answer WHERE at <= ?1 ORDER BY at LIMIT ?2
)
