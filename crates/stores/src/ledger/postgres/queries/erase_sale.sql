-- Only the sales of these history rows: the seats may have been sold again.
UPDATE taken t SET buyer = NULL, phone = NULL, email = NULL, metadata = NULL, salt = NULL
FROM unnest($2::integer[], $3::bigint[]) AS s (seat, n)
CROSS JOIN LATERAL (SELECT ctid FROM taken WHERE event = $1 AND taken.seat = s.seat OFFSET 0) AS place
WHERE t.ctid = place.ctid AND t.n = s.n
    AND (t.buyer IS NOT NULL OR t.phone IS NOT NULL OR t.email IS NOT NULL OR t.metadata IS NOT NULL)
