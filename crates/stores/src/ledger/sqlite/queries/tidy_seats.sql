-- The trigger refuses unless the event is deleted.
DELETE FROM taken WHERE event = ?1 AND seat IN (SELECT seat FROM taken WHERE event = ?1 LIMIT ?2)
