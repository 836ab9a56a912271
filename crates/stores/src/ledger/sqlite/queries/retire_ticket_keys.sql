-- Events that are not closed or deleted keep accepting tickets of older keys; the others accept only this one.
UPDATE event SET oldest_key = ?1 WHERE state = 'closed' OR deleted
