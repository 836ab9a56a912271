-- Every seat on hold, expired or not, with its end.
SELECT seat, ends_at FROM taken INDEXED BY taken_held WHERE event = ?1 AND kind = 'held'
