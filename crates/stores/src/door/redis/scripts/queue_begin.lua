-- A line begins, or begins anew after this Redis forgot: who is inside comes from the ledger, and if
-- somebody may stand in line already nobody new is admitted for a while. Nobody in line is removed.
--
-- args   6  1: the first call; what is known of who is inside is forgotten, but for what is newer
--        7  1: the last call; from now on the line is open
--        8  the history number at which these were inside
--        9  for how many ms nobody new is admitted; empty: nobody stood in line
--       10.. for each entry: user, history number of its beginning, ms left, ms left at most
-- reply  0: no number may be given here    1: done
--
-- example  EVALSHA <sha> 11 door:{e:1} ... 4b1c... 9f2e... 0 800 60000 1 1 17 30000 alice 12 300000 1800000

local run_id = this_run()
local generation = opened(run_id)
if not generation then return 0 end

if ARGV[6] == '1' then
    local known = redis.call('HGETALL', INSIDE)
    for i = 1, #known, 2 do
        if tonumber(string.match(known[i + 1], '^%d+')) <= tonumber(ARGV[8]) then
            redis.call('HDEL', INSIDE, known[i])
            redis.call('ZREM', TOKEN, known[i])
        end
    end
    -- Whoever stands there without a number of its beginning came from somewhere else.
    if redis.call('HLEN', INSIDE) == 0 then redis.call('DEL', TOKEN) end
end
for i = 10, #ARGV, 4 do admit(ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]) end

if ARGV[7] == '1' then
    local before = redis.call('HMGET', STATE, 'generation', 'run_id')
    if before[1] ~= generation then redis.call('SET', SEQ, 0) end
    -- On the same run nothing was forgotten: only the numbers begin anew.
    if ARGV[9] ~= '' and before[2] ~= run_id then
        redis.call('HSET', STATE, 'from', whole(now + tonumber(ARGV[9])))
    end
    redis.call('HSET', STATE, 'generation', generation, 'run_id', run_id)
    keep_for_a_week()
end
return 1
