UPDATE event SET generation = generation + 1 WHERE id = ?1 RETURNING generation
