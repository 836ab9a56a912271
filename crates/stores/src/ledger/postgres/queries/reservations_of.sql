-- One user's seats everywhere: taken_owner begins with the owner.
SELECT seat, n, owner, unit, unit_limit, buyer, phone, number, at, event
FROM taken WHERE owner = $1 AND (event, seat) > ($2::bigint, $3::integer) ORDER BY event, seat LIMIT $4
