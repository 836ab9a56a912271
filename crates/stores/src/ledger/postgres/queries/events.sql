SELECT id, name, max_per_user, opens_at, state, deleted, created_at, n, "cursor", sold, held, came_back, inside,
       room_most, room_ttl_ms, room_max_age_ms, room_idle_ms, oldest_key, changed_at, ledger_now()
FROM event WHERE NOT deleted AND id > $1 ORDER BY id LIMIT $2
