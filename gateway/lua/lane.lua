-- Round trips are shared: whoever comes while one is under way goes with the next, all of them in one call.
-- One after the other per lane, so the busier it is, the more share one; a call that is full waits for
-- nobody. No timers: who comes to an empty lane goes at once, alone.

local semaphore = require "ngx.semaphore"

local remove = table.remove

-- As many as a script takes, and as many calls at once.
local MOST, ABREAST = 128, 8
-- For a turn. A call to a Redis that is away takes no longer, and those behind it then fail at once: who waits
-- so long met one that answers, but too slowly for so many.
local TURN_S = 0.7
-- For an answer on which somebody else is at work; it always comes before that.
local ANSWER_S = 5

local M = {}

-- By name; gone when nobody is in it. A lane: running (calls), waiting (batches in turn), open (the last of
-- them, if there is room).
local lanes = {}

local function start(lane, batch)
    for i, waiting in ipairs(lane.waiting) do
        if waiting == batch then
            remove(lane.waiting, i)
            break
        end
    end
    if lane.open == batch then lane.open = nil end
    lane.running = lane.running + 1
    batch.started = true
end

local function wake(lane, batch)
    start(lane, batch)
    batch.turn:post(1)
end

-- Its call is over: the next goes.
local function finish(name, lane)
    lane.running = lane.running - 1
    local following = lane.waiting[1]
    if following then
        if lane.running == 0 or following.count == MOST then wake(lane, following) end
    elseif lane.running == 0 then
        lanes[name] = nil
    end
end

local function tell(batch, said, fault)
    batch.said, batch.fault = said, fault
    if batch.count > 1 then batch.done:post(batch.count - 1) end
end

-- A place in a batch that another one leads.
local function join(lane, batch, item)
    local place = batch.count + 1
    batch[place], batch.count = item, place
    if place == MOST then
        lane.open = nil
        if lane.running < ABREAST then wake(lane, batch) end
    end
    batch.done:wait(ANSWER_S)
    return batch, place
end

-- Does `exchange(items)`, together with whoever else is there. The reply to all and one's own place in it;
-- or nil and a fault; nil alone: no turn was to be had in time.
function M.share(name, item, exchange)
    local lane = lanes[name]
    if not lane then
        lane = { running = 0, waiting = {} }
        lanes[name] = lane
    end
    local batch = lane.open
    if batch then
        local place
        batch, place = join(lane, batch, item)
        if not batch.said then return nil, batch.fault end
        return batch.said, place
    end
    batch = { item, count = 1 }
    if lane.running == 0 then
        start(lane, batch)
    else
        batch.turn, batch.done = semaphore.new(), semaphore.new()
        lane.waiting[#lane.waiting + 1], lane.open = batch, batch
        batch.turn:wait(TURN_S)
        if not batch.started then
            start(lane, batch)
            tell(batch)
            finish(name, lane)
            return nil
        end
    end
    -- Whatever happens in there, those who wait are told and the lane goes on.
    local fine, said, fault = pcall(exchange, batch)
    if not fine then
        ngx.log(ngx.ERR, "a shared call failed: ", said)
        said, fault = nil, nil
    end
    tell(batch, said, fault)
    finish(name, lane)
    if not said then return nil, fault end
    return said, 1
end

return M
