INSERT INTO ticket_key (id, secret, made_at)
SELECT coalesce(max(id), 0) + 1, ?1, ?2 FROM ticket_key
RETURNING id
