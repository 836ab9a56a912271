-- Opens the door: numbers of this generation may be assigned. A higher generation stays as it is, and no
-- waiting line is removed.
--
-- keys   1  door:{e:1}     2  fcfs:seq:{e:1}     3  left:{e:1}
-- args   1  ledger id      2  run_id as the caller read it when it connected; empty: looked up here
--        3  generation, already raised and durable in the ledger
-- reply  the current generation
--
-- example  EVALSHA <sha> 3 door:{e:1} fcfs:seq:{e:1} left:{e:1} 4b1c... 9f2e... 3  ->  3

local run_id = ARGV[2]
if run_id == '' then
    run_id = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
end
local known = redis.call('HMGET', KEYS[1], 'ledger', 'generation')
local ours = known[1] == ARGV[1]

-- A generation that was opened before, here or on a Redis that this one is a copy of, must not start again
-- at zero: some of its numbers are assigned.
if ours and tonumber(known[2]) >= tonumber(ARGV[3]) then return tonumber(known[2]) end

redis.call('HSET', KEYS[1], 'ledger', ARGV[1], 'generation', ARGV[3], 'run_id', run_id)
redis.call('SET', KEYS[2], 0)
-- What another ledger left does not apply to ours.
if known[1] and not ours then redis.call('DEL', KEYS[3]) end
return tonumber(ARGV[3])
