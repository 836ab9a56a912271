SELECT seq, subject, n, kind, message, at, took_ms, status, error FROM webhook_delivery
WHERE webhook = $1::bigint AND seq < $2::bigint ORDER BY seq DESC LIMIT $3::bigint
