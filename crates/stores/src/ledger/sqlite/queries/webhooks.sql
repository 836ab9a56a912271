SELECT id, url, types, state, why, secret, old_secret, old_ends_at, made_at, made_by FROM webhook ORDER BY id
