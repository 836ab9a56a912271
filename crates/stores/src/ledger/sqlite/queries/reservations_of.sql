-- One user's seats in all events: taken_owner starts with the owner.
SELECT seat, n, owner, unit, unit_limit, buyer, phone, number, at, email, metadata, event
FROM taken INDEXED BY taken_owner WHERE owner = ?1 AND kind = 'sold' AND (event, seat) > (?2, ?3) ORDER BY event, seat LIMIT ?4
