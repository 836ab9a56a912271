DELETE FROM webhook WHERE id = $1::bigint RETURNING id
