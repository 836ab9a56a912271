-- Uses the next id. The caller holds the advisory lock for creating room types.
INSERT INTO room_type (id, name, description, price, currency, time_zone, total, created_at, changed_at, n)
SELECT (SELECT coalesce(max(id), 0) + 1 FROM room_type), $1, $2, $3, $4, $5, $6, now.ms, now.ms, 1
FROM (SELECT ledger_now()) AS now (ms)
RETURNING id, created_at
