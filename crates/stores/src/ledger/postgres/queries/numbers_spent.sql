SELECT number FROM entry WHERE event = $1 AND number = ANY ($2::bigint[])
