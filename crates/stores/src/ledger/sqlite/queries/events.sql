SELECT id, name, max_per_user, opens_at, state, deleted, created_at, n, "cursor", sold, held, came_back, inside,
       room_most, room_ttl_ms, room_max_age_ms, room_idle_ms, oldest_key, hold_ttl,
       lapsed, counted_to, counted_place, room_queue_most, buyer_fields, price, currency, archived_at, rehearsal,
       first_sold_at, sold_out_at, room_gather_from, room_admit_per_minute, gathered,
       starts_at, time_zone, place
FROM event WHERE deleted = 0 AND (archived_at IS NOT NULL) = ?3 AND id > ?1 ORDER BY id LIMIT ?2
