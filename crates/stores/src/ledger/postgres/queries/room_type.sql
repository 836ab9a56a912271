SELECT id, name, description, price, time_zone, total, created_at, n, changed_at, counted_to, counted_place, ledger_now(), currency FROM room_type WHERE id = $1
