-- The number of a user who has a place in the waiting line. Reads only: it is no sign of life of that user.
--
-- keys   1  queue    2  queue:gone
-- args   1  the user
-- reply  the number; -1: the user has no place
--
-- example  EVALSHA <sha> 2 queue:{e:1} queue:gone:{e:1} alice  ->  1234

local number = redis.call('ZSCORE', KEYS[1], ARGV[1]) or redis.call('ZSCORE', KEYS[2], ARGV[1])
return tonumber(number or '-1')
