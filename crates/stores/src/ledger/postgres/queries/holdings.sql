-- What these users have in one event: one probe of taken_owner each.
SELECT owner, seat, n, unit, at FROM taken WHERE owner = ANY ($2::text[]) AND event = $1
