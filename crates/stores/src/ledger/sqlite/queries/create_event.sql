INSERT INTO event (id, name, seat_count, max_per_user, opens_at, state, created_at, changed_at, n,
                   room_most, room_ttl_ms, room_max_age_ms, room_idle_ms, room_queue_most, buyer_fields, price,
                   currency, rehearsal, room_gather_from, room_admit_per_minute, starts_at, time_zone, place,
                   oldest_key)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, 1, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21,
        (SELECT coalesce(max(id), 0) FROM ticket_key))
RETURNING id
