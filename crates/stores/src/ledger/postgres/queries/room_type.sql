SELECT id, name, description, price, time_zone, total, created_at, n, changed_at, ledger_now() FROM room_type WHERE id = $1
