-- The events in which a user has seats, in the order of their ids.
SELECT id FROM event WHERE id IN (SELECT event FROM taken WHERE owner = $1) ORDER BY id FOR NO KEY UPDATE
