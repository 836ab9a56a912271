-- ?2: a generation that a door knew, or -1.
UPDATE event SET generation = max(generation, ?2) + 1 WHERE id = ?1 RETURNING generation
