-- All but the newest.
DELETE FROM webhook_delivery WHERE webhook = ?1 AND seq < (
    SELECT min(seq) FROM (SELECT seq FROM webhook_delivery WHERE webhook = ?1 ORDER BY seq DESC LIMIT ?2))
