SELECT EXISTS (SELECT 1 FROM admin_token WHERE name = ?1 AND ends_at IS NULL)
