-- The public state of the waiting line. queue_line.lua has the keys and common arguments.
--
-- args   6  what is added to arrival numbers     7  admitPerMinute; empty: no limit
-- reply  0, 1 or 2 as in queue_ask.lua
--        3 <highest number that would be admitted now> <waiting> <admitted in the last minute>
--          <1: sold out> <inside> <for how many ms admissions were counted, a minute at most>
--
-- example  EVALSHA <sha> 12 door:{e:1} left:{e:1} queue:{e:1} ... 4b1c... 9f2e... 0 800 60000 0 ''
--            ->  3 1301 8433 240 0 800 60000

local generation = opened(this_run())
if not generation then return { 0 } end
if redis.call('HGET', STATE, 'generation') ~= generation then return { 1 } end
local free, held, state = supply()
if not free then return { 2 } end
pass_over()

local within = inside()
local waiting, places = redis.call('ZCARD', QUEUE), places_left(within, tonumber(ARGV[7]))
local given = tonumber(ARGV[6]) + tonumber(generation) * NUMBERS + tonumber(redis.call('GET', SEQ) or '0')

local function at(rank)
    return tonumber(redis.call('ZRANGE', QUEUE, rank, rank, 'WITHSCORES')[2])
end

local serving = given
if not admits(free, state) or places == 0 then
    local first = at(0)
    if first then serving = first - 1 end
elseif waiting > places then
    serving = at(places - 1)
elseif waiting > 0 then
    serving = math.max(given, at(-1))
end

local admitted, _, counted = admissions()
local sold_out = (free == 0 and held == 0) and 1 or 0
return { 3, serving, waiting, admitted, sold_out, within, counted }
