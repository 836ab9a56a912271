-- Begins a new epoch, or stores the location of the first one. One server writes it, the others read it. Ids of events
-- that were created after the backup are reused, and tickets of those events must not be valid for the new ones. So a
-- new epoch creates a ticket key, like a rotation: existing events keep accepting older keys, unless they are closed or
-- deleted; later events do not. Without a key there are no tickets.
WITH begun AS (
    UPDATE ledger SET epoch = $1, place = $2 WHERE epoch = $3 AND place IS NOT DISTINCT FROM $4
    RETURNING epoch
), made AS (
    INSERT INTO ticket_key (id, secret, made_at)
    SELECT max(id) + 1, $5, ledger_now() FROM ticket_key
    WHERE EXISTS (SELECT FROM begun WHERE epoch <> $3)
    HAVING max(id) IS NOT NULL
    ON CONFLICT (id) DO NOTHING
    RETURNING id
)
UPDATE event SET oldest_key = (SELECT id FROM made) WHERE EXISTS (SELECT FROM made) AND (state = 'closed' OR deleted)
