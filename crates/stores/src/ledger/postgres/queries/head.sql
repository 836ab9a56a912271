SELECT n, hash, at FROM history WHERE event = $1 ORDER BY n DESC LIMIT 1
