-- The endpoint was enabled: everything is tried at once.
UPDATE webhook_cursor SET attempts = 0, next_at = NULL, failing_since = NULL WHERE webhook = ?1 AND attempts > 0
