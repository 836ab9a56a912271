-- The trigger refuses unless the event is deleted.
DELETE FROM entry WHERE event = ?1 AND number IN (SELECT number FROM entry WHERE event = ?1 LIMIT ?2)
