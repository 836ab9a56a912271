INSERT INTO webhook_delivery (webhook, subject, n, kind, message, at, took_ms, status, error)
SELECT id, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9 FROM webhook WHERE id = ?1
