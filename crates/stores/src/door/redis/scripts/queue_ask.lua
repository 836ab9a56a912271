-- Handles one user's request to the waiting line: join, poll, enter or leave. queue_line.lua has the common
-- keys and arguments.
--
-- args   6  join, poll, enter or leave     7  the user
--        8  the user's place: on their ticket, or drawn; not yet used to enter; empty: none
--        9  with how many users in the line this one cannot join any more
--       10  what is added to arrival numbers        11  admitPerMinute; empty: no limit
--       12  how long a turn lasts, in ms
-- reply  0: no number can be assigned here      1: the line has not started in this generation
--        2: what is left is unknown             (after 0, 1 and 2 nothing has changed)
--        3 <ms left> <ms left at most>: the user is inside      4: the user has left the line
--        5: the user is not in the line         6: this generation has no number left
--        7 <number>: the user may enter         8 <seconds>: not yet; retry after this time
--       10: the line is full
--        9 <number> <rank> <ahead> <0 waiting, 1 ready, 2 sold out> <seconds until the next poll>
--
-- example  EVALSHA <sha> 12 door:{e:1} left:{e:1} queue:{e:1} ... 4b1c... 9f2e... 0 800 60000 join alice '' 1000000
--            0 '' 60000  ->  9 1234 733 500 0 3

local what, user, claim, most = ARGV[6], ARGV[7], tonumber(ARGV[8]), tonumber(ARGV[9])
local arrivals_from, per_minute, turn_ms = tonumber(ARGV[10]), tonumber(ARGV[11]), tonumber(ARGV[12])
local AHEAD_PER_SECOND = 200

local generation = opened(this_run())
if not generation then return { 0 } end
if redis.call('HGET', STATE, 'generation') ~= generation then return { 1 } end
local free, held, state = supply()
if not free then return { 2 } end

redis.call('ZADD', SEEN, 'XX', now, user)
redis.call('ZADD', AWAY, 'XX', now, user)
pass_over()
keep()

local ends = redis.call('ZSCORE', TOKEN, user)
if ends and tonumber(ends) > now then
    local cap = string.match(redis.call('HGET', INSIDE, user) or '', ' (%d+)$')
    return { 3, tonumber(ends) - now, tonumber(cap or ends) - now }
end
if what == 'leave' then
    forget(user)
    return { 4 }
end

local number, away = tonumber(redis.call('ZSCORE', QUEUE, user) or nil), false
if not number then
    number = tonumber(redis.call('ZSCORE', GONE, user) or nil)
    away = number ~= nil
end
if not number and not claim and what ~= 'join' then return { 5 } end
if not number and redis.call('ZCARD', QUEUE) + redis.call('ZCARD', GONE) >= most then return { 10 } end
if claim and (not number or claim < number) then
    forget(user)
    stand(user, claim)
    number, away = claim, false
end
if not number then
    local given = tonumber(redis.call('GET', SEQ) or '0')
    if given + 1 >= NUMBERS then return { 6 } end
    number = arrivals_from + tonumber(generation) * NUMBERS + redis.call('INCR', SEQ)
    stand(user, number)
end
if away and (what == 'enter' or redis.call('SISMEMBER', PASSED, user) == 0) then
    redis.call('ZREM', GONE, user)
    redis.call('ZREM', AWAY, user)
    redis.call('SREM', PASSED, user)
    stand(user, number)
    away = false
end

local rank
if away then
    rank = redis.call('ZCOUNT', QUEUE, '-inf', '(' .. whole(number))
else
    rank = redis.call('ZRANK', QUEUE, user)
end
local places = places_left(inside(), per_minute)
local turn = admits(free, state) and rank < places
local ahead = turn and 0 or math.max(0, rank + 1 - places)
local poll_after = math.min(1 + math.floor(ahead / AHEAD_PER_SECOND), math.max(1, math.floor(idle_ms / 3000)))

if what == 'enter' then
    if turn then return { 7, number } end
    local from = tonumber(redis.call('HGET', STATE, 'from') or '0')
    if from > now then return { 8, math.max(1, math.ceil((from - now) / 1000)) } end
    return { 8, poll_after }
end

-- `ready` starts with the first reply that says so, and ends when it is no longer the user's turn.
if not away then
    if turn then
        redis.call('ZADD', READY, 'NX', now + turn_ms, user)
    else
        redis.call('ZREM', READY, user)
    end
end
local status = 0
if free == 0 and held == 0 then
    status = 2
elseif turn then
    status = 1
end
return { 9, number, rank, ahead, status, poll_after }
