DELETE FROM webhook_delivery WHERE webhook = ?1
