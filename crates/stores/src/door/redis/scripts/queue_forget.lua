-- Forgets users who were passed over and have been silent since. Their tickets still prove their places.
-- queue_line.lua has the common keys and arguments.
--
-- args   6  for how long they must have been silent, in ms     7  how many to forget at most (1,000)
-- reply  how many were forgotten, how many users the line still knows
--
-- example  EVALSHA <sha> 12 door:{e:1} ... 4b1c... 9f2e... 0 800 60000 86400000 1000  ->  17 483

pass_over()
local before = now - tonumber(ARGV[6])
local silent = redis.call('ZRANGEBYSCORE', AWAY, '-inf', whole(before), 'LIMIT', 0, tonumber(ARGV[7]))
if #silent > 0 then
    redis.call('ZREM', AWAY, unpack(silent))
    redis.call('ZREM', GONE, unpack(silent))
    redis.call('ZREM', READY, unpack(silent))
    redis.call('SREM', PASSED, unpack(silent))
end
return { #silent, redis.call('ZCARD', QUEUE) + redis.call('ZCARD', GONE) }
