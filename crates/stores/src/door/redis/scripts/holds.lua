-- Publishes new and changed holds for external tools. Tickettock does not read these keys.
--
-- keys   one hold:{r:7}:<holdId> per hold, then one hold-count:{r:7}:<date> per night
-- args   1  clock offset in ms (0 outside tests)     2  1: also write the holds themselves; 0: only the nights
--        3  how many holds
--        then for each hold: its id, its end in ms (0: it has ended), its JSON (empty if arg 2 is 0)
--        then for each night: how many of these holds are on it, and which, counted from 1
-- reply  how many of these holds are live
--
-- example  EVALSHA <sha> 2 hold:{r:7}:hr7-2 hold-count:{r:7}:2026-12-24 0 1 1 hr7-2 1798135200000 '{...}' 1 1  ->  1
--
-- hold-count is a sorted set of holds by their end: the members with an end after now are live. The ends are in
-- the values; the TTLs of the keys are longer and only collect garbage. Each night is written once, however
-- many of the holds are on it. Its TTL is extended, and its expired holds are removed, only when that TTL is
-- near, not with every hold.

local GRACE_MS = 60000
local SLACK_MS = 300000

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + tonumber(ARGV[1])
local count, living = tonumber(ARGV[3]), 0
local left = {}
for i = 1, count do
    local at = 1 + 3 * i
    left[i] = tonumber(ARGV[at + 1]) - now
    if left[i] > 0 then living = living + 1 end
    if ARGV[2] == '1' then
        if left[i] > 0 then
            redis.call('SET', KEYS[i], ARGV[at + 2], 'PX', string.format('%d', left[i] + GRACE_MS))
        else
            redis.call('DEL', KEYS[i])
        end
    end
end

local arg = 4 + 3 * count
for key = count + 1, #KEYS do
    local night, added, gone, needed = KEYS[key], {}, {}, 0
    for at = arg + 1, arg + tonumber(ARGV[arg]) do
        local i = tonumber(ARGV[at])
        local id, ends = ARGV[1 + 3 * i], ARGV[2 + 3 * i]
        if left[i] > 0 then
            added[#added + 1] = ends
            added[#added + 1] = id
            needed = math.max(needed, left[i] + GRACE_MS)
        else
            gone[#gone + 1] = id
        end
    end
    arg = arg + 1 + tonumber(ARGV[arg])
    if #gone > 0 then redis.call('ZREM', night, unpack(gone)) end
    if #added > 0 then
        redis.call('ZADD', night, unpack(added))
        if redis.call('PTTL', night) < needed then
            redis.call('PEXPIRE', night, string.format('%d', needed + SLACK_MS))
            redis.call('ZREMRANGEBYSCORE', night, '-inf', string.format('%d', now))
        end
    end
end
return living
