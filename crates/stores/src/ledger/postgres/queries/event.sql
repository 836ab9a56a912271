SELECT id, name, max_per_user, opens_at, state, deleted, created_at, n, "cursor", sold, held, came_back, changed_at, ledger_now()
FROM event WHERE id = $1
