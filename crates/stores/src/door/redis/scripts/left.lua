-- Reads what the last batch left, while that is valid: until the first end of a hold, and for at most a
-- second after the batch.
--
-- keys   1  left:{e:1}
-- args   1  clock offset in ms (0 outside tests)
-- reply  n, free, held, first end in ms or empty, state, ms until the value expires, now in ms;
--        an empty reply: ask the ledger
--
-- example  EVALSHA <sha> 1 left:{e:1} 0  ->  17 3 0 '' open 940 1798135200000

local FRESH_MS = 1000

local left = redis.call('HMGET', KEYS[1], 'n', 'free', 'held', 'first_end', 'state', 'at')
if not left[1] or not left[6] then return {} end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + tonumber(ARGV[1])
local first_end = tonumber(left[4])
local says_ms = FRESH_MS - (now - tonumber(left[6]))
if first_end then says_ms = math.min(says_ms, first_end - now) end
if says_ms <= 0 then return {} end
return { left[1], left[2], left[3], left[4], left[5], string.format('%d', says_ms), string.format('%d', now) }
