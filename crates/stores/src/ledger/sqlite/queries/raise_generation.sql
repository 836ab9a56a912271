-- ?2: a generation that a door knew, or -1. The door of a deleted event stays closed.
UPDATE event SET generation = max(generation, ?2) + 1 WHERE id = ?1 AND deleted = 0 RETURNING generation
