-- One user's seats in all events: taken_owner starts with the owner. A deleted rehearsal may still have sold rows.
SELECT seat, n, owner, unit, unit_limit, buyer, phone, number, at, email, metadata, event
FROM taken INDEXED BY taken_owner WHERE owner = ?1 AND kind = 'sold'
  AND NOT EXISTS (SELECT 1 FROM event e WHERE e.id = taken.event AND e.deleted = 1) AND (event, seat) > (?2, ?3) ORDER BY event, seat LIMIT ?4
