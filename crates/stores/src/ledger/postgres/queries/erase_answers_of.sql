DELETE FROM answer WHERE user_id = $1
