-- Publishes new and changed holds for external tools. Tickettock does not read these keys.
--
-- keys   for each hold: hold:{r:7}:<holdId>, then one hold-count:{r:7}:<date> per night
-- args   1  clock offset in ms (0 outside tests)
--        then for each hold: its id, its end in ms (0: it has ended), the number of nights, its JSON
-- reply  how many of these holds are live
--
-- example  EVALSHA <sha> 2 hold:{r:7}:hr7-2 hold-count:{r:7}:2026-12-24 0 hr7-2 1798135200000 1 '{...}'  ->  1
--
-- hold-count is a sorted set of holds by their end: the members with an end after now are live. The ends are in
-- the values; the TTLs of the keys are longer and only collect garbage. Holds of one call often share
-- nights, so each night is updated once. Its TTL is extended, and its expired holds are removed, only when
-- that TTL is near, not with every hold.

local GRACE_MS = 60000
local SLACK_MS = 300000

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + tonumber(ARGV[1])
local key, living = 1, 0
-- By night: score and member pairs to add, ids to remove, and how long the key is needed.
local added, gone, needed = {}, {}, {}
for arg = 2, #ARGV, 4 do
    local id, ends, nights = ARGV[arg], tonumber(ARGV[arg + 1]), tonumber(ARGV[arg + 2])
    local left = ends - now
    if left > 0 then
        living = living + 1
        redis.call('SET', KEYS[key], ARGV[arg + 3], 'PX', string.format('%d', left + GRACE_MS))
    else
        redis.call('DEL', KEYS[key])
    end
    for i = key + 1, key + nights do
        local night = KEYS[i]
        if left > 0 then
            local some = added[night]
            if not some then
                some = {}
                added[night] = some
            end
            some[#some + 1] = ARGV[arg + 1]
            some[#some + 1] = id
            needed[night] = math.max(needed[night] or 0, left + GRACE_MS)
        else
            local some = gone[night]
            if not some then
                some = {}
                gone[night] = some
            end
            some[#some + 1] = id
        end
    end
    key = key + nights + 1
end
for night, ids in pairs(gone) do
    redis.call('ZREM', night, unpack(ids))
end
for night, holds in pairs(added) do
    redis.call('ZADD', night, unpack(holds))
    if redis.call('PTTL', night) < needed[night] then
        redis.call('PEXPIRE', night, string.format('%d', needed[night] + SLACK_MS))
        redis.call('ZREMRANGEBYSCORE', night, '-inf', string.format('%d', now))
    end
end
return living
