-- Applies changes of entries in the ledger. A late change never overwrites a newer one.
-- queue_line.lua has the common keys and arguments.
--
-- args   6.. for each change: in, renewed or out; user; history number (of the entry's start; for `out` of the
--        change); ms left; ms left at most
-- reply  how many users entered
--
-- example  EVALSHA <sha> 12 door:{e:1} ... 4b1c... 9f2e... 0 800 60000 out alice 19 0 0  ->  0

local entered = 0
for i = 6, #ARGV, 5 do
    local kind, user, n, left, cap_left = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4]
    local known = redis.call('HGET', INSIDE, user)
    local since = known and tonumber(string.match(known, '^%d+'))
    if kind == 'in' then
        if admit(user, n, left, cap_left) then entered = entered + 1 end
    elseif kind == 'renewed' then
        if since == tonumber(n) then redis.call('ZADD', TOKEN, 'XX', 'GT', now + tonumber(left), user) end
    elseif not since or since <= tonumber(n) then
        redis.call('ZREM', TOKEN, user)
        redis.call('HDEL', INSIDE, user)
    end
end
if entered > 0 then
    local tenth = math.floor(now / TENTH_MS)
    local field = 'r' .. (tenth % TENTHS)
    local before, count = string.match(redis.call('HGET', STATE, field) or '', '^(%d+) (%d+)$')
    local so_far = (tonumber(before) == tenth) and tonumber(count) or 0
    redis.call('HSET', STATE, field, whole(tenth) .. ' ' .. whole(so_far + entered))
end
return entered
