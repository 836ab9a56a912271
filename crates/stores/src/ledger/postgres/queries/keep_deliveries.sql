-- Adds attempts and removes all but the newest. If the endpoint is being deleted meanwhile, these are deleted too.
WITH forgotten AS (
    DELETE FROM webhook_delivery WHERE webhook = $1::bigint AND seq < (
        SELECT min(seq) FROM (
            SELECT seq FROM webhook_delivery WHERE webhook = $1::bigint ORDER BY seq DESC LIMIT $2::bigint) AS kept)
)
INSERT INTO webhook_delivery (webhook, subject, n, kind, message, at, took_ms, status, error)
SELECT webhook.id, made.subject, made.n, made.kind, made.message, made.at, made.took_ms, made.status, made.error
FROM webhook
CROSS JOIN unnest($3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::bigint[], $8::bigint[], $9::integer[], $10::text[])
    WITH ORDINALITY AS made (subject, n, kind, message, at, took_ms, status, error, place)
WHERE webhook.id = $1::bigint
ORDER BY made.place
