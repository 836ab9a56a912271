SELECT subject, n, kind, message, at, took_ms, status, error FROM webhook_delivery
WHERE webhook = $1::bigint ORDER BY seq DESC LIMIT $2::bigint
