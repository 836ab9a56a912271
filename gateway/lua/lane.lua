-- Requests share round trips: those that arrive while a call is in flight go together in the next one.
-- Calls of a lane run one after the other, so the batch size grows with load. A full batch does not wait
-- for the call in flight. There are no timers: a request that finds the lane empty goes at once, alone.

local semaphore = require "ngx.semaphore"

local remove = table.remove

-- Requests per call, as the script accepts; and calls in flight per lane.
local MOST, ABREAST = 128, 8
-- How long a batch waits for its turn. A call to an unreachable Redis fails within the same time, and those
-- behind it then fail at once. So a batch that waits this long means that Redis answers, but too slowly.
local TURN_S = 0.7
-- How long a request waits for the call of its batch. The call always ends sooner.
local ANSWER_S = 5

local M = {}

-- Lanes by name; an empty lane is removed. Fields: running (calls in flight), waiting (batches in order),
-- open (the last batch, if it has room).
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

-- A call has ended: start the next batch.
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

-- Joins a batch that another request will send.
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

-- Runs `exchange(items)`, together with other requests of the lane. Returns the reply for the batch and the
-- request's index in it; or nil and a fault; or nil alone if the batch got no turn in time.
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
    -- Even if the exchange raises an error, wake the waiting requests and keep the lane running.
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
