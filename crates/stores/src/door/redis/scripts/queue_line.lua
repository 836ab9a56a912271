-- Common code of the waiting-line scripts. It is prepended to each of them.
--
-- keys   1  door:{e:1}          2  left:{e:1}
--        3  queue:{e:1}         active users in line, by number
--        4  queue:seen:{e:1}    the same users, by the time of their last request
--        5  queue:gone:{e:1}    idle or passed-over users, by number
--        6  queue:passed:{e:1}  of those, the users who were ready and did not enter
--        7  queue:ready:{e:1}   users who got `ready`, by the time at which it lapses
--        8  queue:seq:{e:1}     numbers assigned in this generation
--        9  queue:state:{e:1}   generation and run_id that the line was started on; from: no admission before;
--                               compared: when a server last compared who is inside with the ledger;
--                               r0 to r5: admissions per 10-second slot, `<slot> <count>`
--       10  token:{e:1}         users inside, by the end of their entry
--       11  queue:inside:{e:1}  of those, `<history number> <end at most>`
--       12  queue:away:{e:1}    idle or passed-over users, by when that was or their last request since
-- args   1  ledger id           2  run_id as the caller read it when it connected; empty: looked up here
--        3  clock offset in ms (0 outside tests)
--        4  maxConcurrent       5  idleTimeout in ms
--
-- The number of users inside is computed from the ends of their entries. There is no counter, so nothing can
-- drift. Each call passes over at most 1,000 users.

local DOOR, LEFT, QUEUE, SEEN, GONE, PASSED = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local READY, SEQ, STATE, TOKEN, INSIDE, AWAY = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11], KEYS[12]
local NUMBERS = 1000000000
local AT_MOST = 1000
local FRESH_MS = 1000
local WEEK_MS = 604800000
local TENTH_MS = 10000
local TENTHS = 6

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + tonumber(ARGV[3])
local most_inside, idle_ms = tonumber(ARGV[4]), tonumber(ARGV[5])

local function whole(number) return string.format('%d', number) end

local function this_run()
    if ARGV[2] ~= '' then return ARGV[2] end
    return string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
end

-- The generation in which numbers may be assigned; nil: none can be assigned here.
local function opened(run_id)
    local known = redis.call('HMGET', DOOR, 'ledger', 'generation', 'run_id')
    if known[1] ~= ARGV[1] or known[3] ~= run_id then return nil end
    return known[2] or nil
end

-- Free, held and state, if what the last batch left is still valid; else nil.
local function supply()
    local left = redis.call('HMGET', LEFT, 'free', 'held', 'first_end', 'state', 'at')
    if not left[1] or not left[5] or now - tonumber(left[5]) >= FRESH_MS then return nil end
    local first_end = tonumber(left[3])
    if first_end and first_end <= now then return nil end
    return tonumber(left[1]), tonumber(left[2]), left[4]
end

local function stand(user, number)
    redis.call('ZADD', QUEUE, 'NX', number, user)
    redis.call('ZADD', SEEN, now, user)
end

local function forget(user)
    redis.call('ZREM', QUEUE, user)
    redis.call('ZREM', SEEN, user)
    redis.call('ZREM', GONE, user)
    redis.call('ZREM', AWAY, user)
    redis.call('ZREM', READY, user)
    redis.call('SREM', PASSED, user)
end

local function set_aside(users)
    local numbers, aside, away = redis.call('ZMSCORE', QUEUE, unpack(users)), {}, {}
    for i, user in ipairs(users) do
        away[2 * i - 1], away[2 * i] = now, user
        if numbers[i] then
            aside[#aside + 1] = numbers[i]
            aside[#aside + 1] = user
        end
    end
    redis.call('ZREM', QUEUE, unpack(users))
    redis.call('ZREM', SEEN, unpack(users))
    if #aside > 0 then redis.call('ZADD', GONE, unpack(aside)) end
    redis.call('ZADD', AWAY, unpack(away))
end

local function pass_over()
    local ended = redis.call('ZRANGEBYSCORE', TOKEN, '-inf', whole(now), 'LIMIT', 0, AT_MOST)
    if #ended > 0 then
        redis.call('ZREM', TOKEN, unpack(ended))
        redis.call('HDEL', INSIDE, unpack(ended))
    end
    local silent = redis.call('ZRANGEBYSCORE', SEEN, '-inf', whole(now - idle_ms), 'LIMIT', 0, AT_MOST)
    if #silent > 0 then set_aside(silent) end
    if #silent >= AT_MOST then return end
    local late = redis.call('ZRANGEBYSCORE', READY, '-inf', whole(now), 'LIMIT', 0, AT_MOST - #silent)
    if #late > 0 then
        set_aside(late)
        redis.call('SADD', PASSED, unpack(late))
        redis.call('ZREM', READY, unpack(late))
    end
end

local function inside()
    return redis.call('ZCOUNT', TOKEN, '(' .. whole(now), '+inf')
end

-- Users who entered in the last minute, and in the running slot; and for how many ms they were counted: since the
-- first known slot, a minute at most.
local function admissions()
    local lately, running, tenth_now, first = 0, 0, math.floor(now / TENTH_MS), nil
    for i = 0, TENTHS - 1 do
        local tenth, count = string.match(redis.call('HGET', STATE, 'r' .. i) or '', '^(%d+) (%d+)$')
        tenth = tonumber(tenth)
        if tenth and tenth > tenth_now - TENTHS then lately = lately + tonumber(count) end
        if tenth == tenth_now then running = tonumber(count) end
        if tenth and tenth < (first or math.huge) then first = tenth end
    end
    local minute = TENTHS * TENTH_MS
    local counted = first and math.max(1, math.min(minute, now - first * TENTH_MS)) or minute
    return lately, running, counted
end

-- How many may enter now: free places inside, and as many as admitPerMinute leaves, spread over the minute.
local function places_left(within, per_minute)
    local free = math.max(0, most_inside - within)
    if not per_minute then return free end
    local lately, running = admissions()
    return math.max(0, math.min(free, per_minute - lately, math.ceil(per_minute / TENTHS) - running))
end

local function admits(free, state)
    return state == 'open' and free > 0 and now >= tonumber(redis.call('HGET', STATE, 'from') or '0')
end

-- Records an entry. Takes the time left, not the end, because the ledger has its own clock. Returns false if
-- this entry or a newer one is known.
local function admit(user, n, left, cap_left)
    local known = redis.call('HGET', INSIDE, user)
    if known and tonumber(string.match(known, '^%d+')) >= tonumber(n) then return false end
    redis.call('ZADD', TOKEN, now + tonumber(left), user)
    redis.call('HSET', INSIDE, user, n .. ' ' .. whole(now + tonumber(cap_left)))
    forget(user)
    return true
end

-- Ends are in the values; these TTLs only collect keys that were unused for a week. Every call renews them.
local function keep_for_a_week()
    for i = 3, 12 do redis.call('PEXPIRE', KEYS[i], WEEK_MS) end
end

local function keep()
    if redis.call('PTTL', STATE) < WEEK_MS / 2 then keep_for_a_week() end
end
