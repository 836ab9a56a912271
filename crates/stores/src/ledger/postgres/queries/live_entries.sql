-- The number and who is inside in one statement, so of one moment.
SELECT t.number, t.user_id, t.token, t.n, t.begins, t.ends, t.cap, e.n, e.line_used, ledger_now()
FROM event e
LEFT JOIN entry t ON t.event = e.id AND t.over_at IS NULL AND t.ends > ledger_now()
WHERE e.id = $1
