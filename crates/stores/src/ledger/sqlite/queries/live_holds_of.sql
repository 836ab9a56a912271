-- One user's live holds in all subjects: hold_owner starts with the owner.
SELECT subject, n, owner, key, stock, first_at, at, ends_at, state, ended_at, reserved, metadata, reason
FROM hold INDEXED BY hold_owner
WHERE owner = ?1 AND state = 'held' AND ends_at > ?2
  AND NOT EXISTS (SELECT 1 FROM event e WHERE e.id = hold.subject AND e.deleted = 1) AND (subject, n) > (?3, ?4) ORDER BY subject, n LIMIT ?5
