-- Also counts the seats on expired holds that are not marked free yet: they are free, and displayed as free. The order
-- forces the index of held seats: see holds_needed.
SELECT id, name, max_per_user, opens_at, state, deleted, created_at, n, "cursor", sold, held, came_back, inside,
       room_most, room_ttl_ms, room_max_age_ms, room_idle_ms, oldest_key, changed_at, ledger_now(),
       lapsed + CASE WHEN held = lapsed THEN 0 ELSE (
           SELECT count(*)::integer FROM (
               SELECT FROM taken
               WHERE taken.event = event.id AND taken.kind = 'held' AND taken.ends_at <= (SELECT ledger_now())
                 AND (taken.ends_at, taken.seat) > (event.counted_to, event.counted_place::integer)
               ORDER BY taken.ends_at OFFSET 0
           ) AS newly) END AS lapsed,
       counted_to, counted_place, hold_ttl, seat_count, room_queue_most, buyer_fields, price, currency, archived_at, rehearsal,
       first_sold_at, sold_out_at, room_gather_from, room_admit_per_minute, gathered,
       starts_at, time_zone, place
FROM event WHERE id = $1
