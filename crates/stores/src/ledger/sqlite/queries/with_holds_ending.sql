-- Subjects with holds that end by then and are not marked expired yet. The recursion jumps from subject to subject in
-- the index, so its cost does not depend on the number of holds.
WITH RECURSIVE holding (subject) AS (
    SELECT min(subject) FROM hold INDEXED BY hold_end WHERE state = 'held'
    UNION ALL
    SELECT (SELECT min(subject) FROM hold INDEXED BY hold_end WHERE state = 'held' AND hold.subject > holding.subject)
    FROM holding WHERE holding.subject IS NOT NULL
)
SELECT subject FROM holding
WHERE subject IS NOT NULL AND EXISTS (
    SELECT 1 FROM hold INDEXED BY hold_end
    WHERE hold.subject = holding.subject AND state = 'held' AND ends_at <= ?1)
LIMIT ?2
