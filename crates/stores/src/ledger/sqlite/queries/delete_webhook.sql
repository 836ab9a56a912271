DELETE FROM webhook WHERE id = ?1
