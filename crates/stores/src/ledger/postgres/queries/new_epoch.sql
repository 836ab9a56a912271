-- Begins a new epoch, or notes the place of the first one. One server writes it, the others read what it wrote.
-- Ids of events that were made after the backup come again, and tickets of those events must not count for the new
-- ones. So a new epoch makes a ticket key, as a rotation does: events that are there keep accepting older keys,
-- unless they are closed or deleted; later ones do not. Without a key there are no tickets.
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
