SELECT deleted FROM event WHERE id = ?1
