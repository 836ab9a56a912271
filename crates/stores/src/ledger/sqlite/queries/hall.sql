SELECT plan FROM hall WHERE event = ?1
