-- Opens the door with a generation that the ledger has raised. Generations only go up; no line is removed.
--
-- keys   1  door:{e:1}     2  fcfs:seq:{e:1}     3  left:{e:1}     4  token:{e:1}     5  queue:inside:{e:1}
-- args   1  ledger id      2  run_id as the caller read it when it connected; empty: looked up here
--        3  generation, raised in the ledger and durable there
-- reply  the generation that this door knew and that is not lower; nothing was changed then, and the
--        caller raises the ledger's generation above it. -1: the door is open with the caller's.
--
-- example  EVALSHA <sha> 5 door:{e:1} fcfs:seq:{e:1} left:{e:1} token:{e:1} queue:inside:{e:1} 4b1c... 9f2e... 3  ->  -1

local run_id = ARGV[2]
if run_id == '' then
    run_id = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
end
local known = redis.call('HMGET', KEYS[1], 'ledger', 'generation')

-- Some numbers of the known generation were given, whichever ledger and whichever Redis it was opened
-- on. A ledger that was restored from a backup may be behind it.
if known[2] and tonumber(known[2]) >= tonumber(ARGV[3]) then return tonumber(known[2]) end

redis.call('HSET', KEYS[1], 'ledger', ARGV[1], 'generation', ARGV[3], 'run_id', run_id)
redis.call('SET', KEYS[2], 0)
-- What another ledger had left, and who was inside by it, says nothing about this one.
if known[1] and known[1] ~= ARGV[1] then redis.call('DEL', KEYS[3], KEYS[4], KEYS[5]) end
return -1
