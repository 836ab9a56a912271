-- The event's row. BEGIN IMMEDIATE excludes other writers, so this read is under the lock.
SELECT id, name, max_per_user, opens_at, state, deleted, created_at, n, "cursor", sold, held, came_back, inside,
       room_most, room_ttl_ms, room_max_age_ms, room_idle_ms, oldest_key, hold_ttl,
       lapsed, counted_to, counted_place, room_queue_most, buyer_fields, price, currency, archived_at, rehearsal,
       first_sold_at, sold_out_at, room_gather_from, room_admit_per_minute, gathered,
       starts_at, time_zone, place
FROM event WHERE id = ?1
