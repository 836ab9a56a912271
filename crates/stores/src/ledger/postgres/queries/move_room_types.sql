-- The last write of a batch, one row per room type. The old history number guards against a second writer: if
-- it differs, n becomes null, and the column's NOT NULL fails. The rows exist, because this transaction has
-- locked them.
UPDATE room_type t
SET n = CASE WHEN t.n = m.before THEN m.n END, changed_at = greatest(t.changed_at, m.now), name = m.name,
    description = m.description, price = m.price, time_zone = m.time_zone, total = m.total,
    counted_to = m.counted_to, counted_place = m.counted_place, currency = m.currency,
    head = m.head
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::text[],
            $9::integer[], $10::bigint[], $11::bigint[], $12::text[], $13::bytea[])
     AS m (id, before, n, now, name, description, price, time_zone, total, counted_to, counted_place, currency,
           head)
CROSS JOIN LATERAL (SELECT ctid FROM room_type WHERE room_type.id = m.id OFFSET 0) AS place
WHERE t.ctid = place.ctid
