-- Events that are open now go on with the tickets that were given out; others begin anew.
UPDATE event SET oldest_key = ?1 WHERE state = 'closed' OR deleted
