-- The hold of a seat, expired or not.
SELECT h.subject, h.n, h.owner, h.key, h.stock, h.first_at, h.at, h.ends_at, h.state, h.ended_at, h.reserved, h.metadata, h.reason
FROM taken t JOIN hold h ON h.subject = t.event AND h.n = t.hold
WHERE t.event = ?1 AND t.seat = ?2 AND t.kind = 'held'
