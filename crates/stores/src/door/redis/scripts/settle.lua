-- Runs after each batch, before its responses leave. Removes the marks of finished requests and records what
-- is left.
--
-- keys   1  left:{e:1}     2..  dup:user:{e:1}:<user>, one for each mark
-- args   1  clock offset in ms (0 outside tests)
--        2  n, the number of the newest history row; empty: do not record what is left
--        3  free   4  held   5  first end of a hold in ms; empty: none   6  state of the event
--        7  channel live:{e:1}
--        8.. the name of the request that set each mark
-- reply  how many marks were removed
--
-- example  EVALSHA <sha> 2 left:{e:1} dup:user:{e:1}:alice 0 17 3 0 '' open live:{e:1} 00ff01  ->  1
--
-- A mark is removed by the name of its request: a mark that another request has set since then stays. A lower
-- n does not overwrite a higher one, so a server that was paused cannot publish an old state. But a state that
-- is two seconds old gives way: a ledger that was restored from a backup continues from a lower n.

local DAY_MS = 86400000
local STALE_MS = 2000

local own, sub = {}, string.sub
if #KEYS > 1 then
    local marks = redis.call('MGET', unpack(KEYS, 2))
    for i = 2, #KEYS do
        local mark, name = marks[i - 1], ARGV[6 + i]
        -- All names have the same length, so no name is a prefix of another.
        if mark and sub(mark, 1, #name) == name then own[#own + 1] = KEYS[i] end
    end
    if #own > 0 then redis.call('DEL', unpack(own)) end
end

if ARGV[2] ~= '' then
    local before = redis.call('HMGET', KEYS[1], 'n', 'at')
    local n, known, at = tonumber(ARGV[2]), tonumber(before[1] or '-1'), tonumber(before[2] or '0')
    local time = redis.call('TIME')
    local now = time[1] * 1000 + math.floor(time[2] / 1000) + tonumber(ARGV[1])
    if n >= known or now - at >= STALE_MS then
        redis.call('HSET', KEYS[1], 'n', ARGV[2], 'free', ARGV[3], 'held', ARGV[4], 'first_end', ARGV[5],
            'state', ARGV[6], 'at', string.format('%d', now))
        redis.call('PEXPIRE', KEYS[1], DAY_MS)
    end
    if n > known then
        redis.call('SPUBLISH', ARGV[7], string.format('{"n":%s,"free":%s,"held":%s,"state":"%s"}',
            ARGV[2], ARGV[3], ARGV[4], ARGV[6]))
    end
end
return #own
