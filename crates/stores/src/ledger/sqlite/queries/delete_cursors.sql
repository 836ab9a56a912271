DELETE FROM webhook_cursor WHERE webhook = ?1
