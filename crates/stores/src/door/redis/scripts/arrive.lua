-- Assigns arrival numbers to requests. For each request it checks the budget of the address, then marks the
-- user as having a request in flight, then assigns a number.
--
-- keys   1  door:{e:1}                 2  fcfs:seq:{e:1}
--        then for each request: dup:user:{e:1}:<user>, dup:ip:{e:1}:<address>
--        (a request that sets no mark has door:{e:1} in place of its user's key)
-- args   1  ledger id                  2  run_id of this Redis, as the caller read it when it connected;
--                                         empty: looked up here (a cluster client does not see which node answers)
--        3  clock offset in ms (0 outside tests)
--        4  lifetime of a mark in ms
--        5  requests per address and window; 0: no budget       6  length of the window in ms
--        7.. for each request its name; empty: set no mark (no user, or an idempotency key)
-- reply  two integers for each request:
--        1 <number>   2 <seconds>: the address has used up its budget   3 <seconds>: the user has a request in flight
--        0 0 for all: no number can be assigned here, and the script has changed nothing
--
-- example  EVALSHA <sha> 4 door:{e:1} fcfs:seq:{e:1} dup:user:{e:1}:alice dup:ip:{e:1}:10.0.0.1 \
--            4b1c... 9f2e... 0 5000 0 5000 00ff01  ->  1 1
--
-- At most 128 requests per call. A repeated call with the same names only uses more of the budget: a request
-- is not blocked by its own mark.

local GENERATION = 1000000000
local GARBAGE_MS = 60000

local count = #ARGV - 6
local known = redis.call('HMGET', KEYS[1], 'ledger', 'generation', 'run_id')
local run_id = ARGV[2]
if run_id == '' then
    run_id = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
end

local function nobody()
    local reply = {}
    for i = 1, count * 2 do reply[i] = 0 end
    return reply
end

-- The door belongs to another ledger, lost its state, or was copied from another Redis: its next numbers
-- may be assigned already.
if known[1] ~= ARGV[1] or known[3] ~= run_id or not known[2] then return nobody() end
local given = tonumber(redis.call('GET', KEYS[2]) or '0')
if given + count >= GENERATION then return nobody() end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + tonumber(ARGV[3])
local mark_ms, limit, window_ms = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local base = tonumber(known[2]) * GENERATION

-- Every request counts against the budget, whatever its outcome.
local function spent(key)
    if limit == 0 then return nil end
    local budget = redis.call('HMGET', key, 'count', 'end')
    local used, ends = tonumber(budget[1] or '0'), tonumber(budget[2] or '0')
    if ends <= now then
        used, ends = 0, now + window_ms
        redis.call('PEXPIRE', key, window_ms + GARBAGE_MS)
    end
    used = used + 1
    redis.call('HSET', key, 'count', used, 'end', string.format('%d', ends))
    if not budget[1] then redis.call('PEXPIRE', key, window_ms + GARBAGE_MS) end
    if used > limit then return math.max(1, math.ceil((ends - now) / 1000)) end
    return nil
end

-- Marks the user, unless another request of the user is in flight. Most users have no mark, so one call is
-- enough. The request's own mark does not block it, and neither does a mark that has ended but still has its
-- key. The values that all marks share are converted to strings once: redis.call formats a number each time.
local call, mark_end, garbage = redis.call, string.format(' %d', now + mark_ms), string.format('%d', mark_ms + GARBAGE_MS)
local function marked(key, name)
    if call('SET', key, name .. mark_end, 'NX', 'PX', garbage) then return true end
    local owner, ends = string.match(call('GET', key), '^(%S+) (%-?%d+)$')
    if owner ~= name and tonumber(ends) > now then return false end
    call('SET', key, name .. mark_end, 'PX', garbage)
    return true
end

local reply, numbers = {}, 0
for i = 1, count do
    local user_key, address_key, name = KEYS[1 + 2 * i], KEYS[2 + 2 * i], ARGV[6 + i]
    local wait = spent(address_key)
    if wait then
        reply[2 * i - 1], reply[2 * i] = 2, wait
    elseif name ~= '' and not marked(user_key, name) then
        reply[2 * i - 1], reply[2 * i] = 3, 1
    else
        numbers = numbers + 1
        reply[2 * i - 1], reply[2 * i] = 1, base + given + numbers
    end
end
-- Last: if anything above fails, no number has been assigned.
if numbers > 0 then redis.call('INCRBY', KEYS[2], numbers) end
return reply
