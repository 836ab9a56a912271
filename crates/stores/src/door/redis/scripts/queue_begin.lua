-- Starts a line, or restarts it after this Redis lost its state. The entries come from the ledger. If users may
-- be in line already, nobody new is admitted for a while. No user is removed from the line.
-- queue_line.lua has the common keys and arguments.
--
-- args   6  1: the first call; removes the known entries, except newer ones
--        7  1: the last call; opens the line
--        8  the history number at which these entries were read
--        9  for how many ms nobody new is admitted; empty: nobody was in line
--       10.. for each entry: user, history number of its start, ms left, ms left at most
-- reply  0: no number can be assigned here, or not in this generation    1: done
--
-- example  EVALSHA <sha> 12 door:{e:1} ... 4b1c... 9f2e... 0 800 60000 1 1 17 30000 alice 12 300000 1800000

local run_id = this_run()
local generation = opened(run_id)
if not generation then return 0 end

-- The line of this generation was started and then lost. Its numbers were assigned, so the generation must not
-- be counted again: the door closes, and a server raises the generation.
if redis.call('EXISTS', STATE) == 0 and redis.call('HGET', DOOR, 'line') == generation then
    redis.call('HDEL', DOOR, 'run_id')
    return 0
end

if ARGV[6] == '1' then
    local known = redis.call('HGETALL', INSIDE)
    for i = 1, #known, 2 do
        if tonumber(string.match(known[i + 1], '^%d+')) <= tonumber(ARGV[8]) then
            redis.call('HDEL', INSIDE, known[i])
            redis.call('ZREM', TOKEN, known[i])
        end
    end
    -- Entries without a history number are not ours.
    if redis.call('HLEN', INSIDE) == 0 then redis.call('DEL', TOKEN) end
end
for i = 10, #ARGV, 4 do admit(ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]) end

if ARGV[7] == '1' then
    local before = redis.call('HMGET', STATE, 'generation', 'run_id')
    if before[1] ~= generation then redis.call('SET', SEQ, 0) end
    -- On the same run of Redis no state was lost: only the numbers start again.
    if ARGV[9] ~= '' and before[2] ~= run_id then
        redis.call('HSET', STATE, 'from', whole(now + tonumber(ARGV[9])))
    end
    redis.call('HSET', STATE, 'generation', generation, 'run_id', run_id)
    redis.call('HSET', DOOR, 'line', generation)
    keep_for_a_week()
end
return 1
