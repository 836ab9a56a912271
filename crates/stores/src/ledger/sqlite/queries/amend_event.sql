-- Closing an event invalidates its tickets of older keys.
UPDATE event SET name = ?2, max_per_user = ?3, opens_at = ?4, state = ?5, deleted = ?6,
    room_most = ?7, room_ttl_ms = ?8, room_max_age_ms = ?9, room_idle_ms = ?10, room_queue_most = ?11,
    buyer_fields = ?12, price = ?13, currency = ?14, archived_at = ?15,
    room_gather_from = ?16, room_admit_per_minute = ?17, gathered = ?18,
    starts_at = ?19, time_zone = ?20, place = ?21,
    oldest_key = CASE WHEN ?5 = 'closed' AND state <> 'closed'
                      THEN coalesce((SELECT max(id) FROM ticket_key), 0) ELSE oldest_key END
WHERE id = ?1
