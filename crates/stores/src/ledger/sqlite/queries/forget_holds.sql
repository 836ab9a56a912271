-- Holds that ended without a sale.
DELETE FROM hold WHERE (subject, n) IN (
    SELECT subject, n FROM hold
    WHERE state <> 'held' AND state <> 'confirmed' AND ended_at <= ?1 ORDER BY ended_at LIMIT ?2
)
