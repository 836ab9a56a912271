-- Holds that began or changed, for onlookers. Nothing of ours reads these keys.
--
-- keys   for each hold its own key hold:{r:7}:<holdId>, then one hold-count:{r:7}:<date> per night
-- args   1  offset of the clock in ms (0 outside tests)
--        then for each hold: its id, its end in ms (0: it has ended), how many nights, what to show
-- reply  how many of them live
--
-- example  EVALSHA <sha> 2 hold:{r:7}:hr7-2 hold-count:{r:7}:2026-12-24 0 hr7-2 1798135200000 1 '{...}'  ->  1
--
-- A count is a set of holds by their ends, so that whoever counts those behind now counts the living.
-- Ends are in the values; the TTLs are a minute longer and only collect garbage.

local GRACE_MS = 60000

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + tonumber(ARGV[1])
local key, living = 1, 0
for arg = 2, #ARGV, 4 do
    local id, ends, nights = ARGV[arg], tonumber(ARGV[arg + 1]), tonumber(ARGV[arg + 2])
    local left = ends - now
    if left > 0 then
        living = living + 1
        redis.call('SET', KEYS[key], ARGV[arg + 3], 'PX', string.format('%d', left + GRACE_MS))
    else
        redis.call('DEL', KEYS[key])
    end
    for night = key + 1, key + nights do
        if left > 0 then
            redis.call('ZADD', KEYS[night], ARGV[arg + 1], id)
            local ttl = redis.call('PTTL', KEYS[night])
            if ttl < left + GRACE_MS then
                redis.call('PEXPIRE', KEYS[night], string.format('%d', left + GRACE_MS))
            end
        else
            redis.call('ZREM', KEYS[night], id)
        end
        redis.call('ZREMRANGEBYSCORE', KEYS[night], '-inf', string.format('%d', now))
    end
    key = key + nights + 1
end
return living
