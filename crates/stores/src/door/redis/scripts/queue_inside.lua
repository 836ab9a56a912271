-- Who is inside by this door, to be compared with the ledger. queue_line.lua has the common keys and arguments.
--
-- args   6  digest or list
--        7  digest: do nothing if somebody compared within so many ms; 0: never skip. list: from this cursor
-- reply  digest: empty: skipped, or the line has not started in this generation; else <count> <sum of the entries'
--          history numbers; -1: too many to add up>
--        list: <next cursor; 0: this was the last page>, then for each entry: user, history number, ms left
--
-- example  EVALSHA <sha> 12 door:{e:1} ... 4b1c... 9f2e... 0 800 60000 digest 500  ->  2 31

local SUM_MOST = 2000
local PAGE = 1000

local generation = opened(this_run())
if not generation or redis.call('HGET', STATE, 'generation') ~= generation then
    if ARGV[6] == 'list' then return { '0' } end
    return {}
end

if ARGV[6] == 'list' then
    local page = redis.call('ZSCAN', TOKEN, ARGV[7], 'COUNT', PAGE)
    local reply, known = { page[1] }, page[2]
    for i = 1, #known, 2 do
        local ends = tonumber(known[i + 1])
        if ends > now then
            reply[#reply + 1] = known[i]
            reply[#reply + 1] = string.match(redis.call('HGET', INSIDE, known[i]) or '0', '^%d+')
            reply[#reply + 1] = whole(ends - now)
        end
    end
    return reply
end

local within = tonumber(ARGV[7])
if within > 0 then
    local compared = tonumber(redis.call('HGET', STATE, 'compared') or '0')
    if compared <= now and now - compared < within then return {} end
    redis.call('HSET', STATE, 'compared', whole(now))
end
local count, sum = inside(), -1
if redis.call('HLEN', INSIDE) <= SUM_MOST then
    sum = 0
    local known = redis.call('HGETALL', INSIDE)
    for i = 1, #known, 2 do
        if tonumber(redis.call('ZSCORE', TOKEN, known[i]) or '0') > now then
            sum = sum + tonumber(string.match(known[i + 1], '^%d+'))
        end
    end
end
return { count, sum }
