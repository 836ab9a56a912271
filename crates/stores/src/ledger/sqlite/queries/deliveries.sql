SELECT seq, subject, n, kind, message, at, took_ms, status, error FROM webhook_delivery
WHERE webhook = ?1 AND seq < ?2 ORDER BY seq DESC LIMIT ?3
