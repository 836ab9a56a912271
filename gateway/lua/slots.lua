-- Limits how many reservation requests this worker has in flight at the servers. Further requests wait here, briefly
-- and in order, and are then refused, so that the servers never get more than they can take. servers.lua keeps the
-- share of each server.

local semaphore = require "ngx.semaphore"
local servers = require "servers"

local ceil, max, min, random = math.ceil, math.max, math.min, math.random

-- The longest wait for a slot.
local WAIT_S = 0.25
-- This many may wait while the rate is unknown, or as many as the servers have room for.
local WAITING_LEAST = 64
-- The rate is measured over at least this time.
local COUNTED_S = 0.25
-- The rate that is assumed while the measured rate is lower.
local RATE_LEAST = 200
local RETRY_MOST_S = 30

local M = {}
local taken, waiting = 0, 0
local turn = semaphore.new()

-- Slots released per second; and since the rate was measured last.
local rate, given, counted = 0, 0, 0
-- The retries of refused requests keep the servers full until this time.
local promised = 0

local function count(now)
    given = given + 1
    local passed = now - counted
    if passed >= COUNTED_S then
        -- Over a longer time without requests the measurement means nothing.
        if passed < 4 * COUNTED_S then rate = given / passed end
        given, counted = 0, now
    end
end

-- Whether the queue is full. It holds as many as get a slot in half of the wait, so that few wait in vain.
local function crowded(most)
    return waiting >= max(min(most, WAITING_LEAST), rate * WAIT_S / 2)
end

-- Takes a slot. Returns false if there is none and the queue is full, or the wait was too long.
function M.take()
    local most = servers.room()
    if taken < most then
        taken = taken + 1
        return true
    end
    if crowded(most) then return false end
    waiting = waiting + 1
    local got = turn:wait(WAIT_S)
    waiting = waiting - 1
    return got and true or false
end

-- Passes a slot to the request that has waited longest, or releases it.
function M.give()
    count(ngx.now())
    -- The servers may have room for fewer requests than before.
    if turn:count() < 0 and taken <= servers.room() then turn:post(1) else taken = taken - 1 end
end

-- Whether a new request would find neither a slot nor a place in the queue.
function M.full()
    -- The common case, which needs no look at the servers.
    if waiting == 0 then return false end
    local most = servers.room()
    return taken >= most and crowded(most)
end

-- Seconds after which a request that found no slot should retry: behind those that were refused before it.
function M.retry()
    local now = ngx.now()
    promised = min(max(promised, now) + 1 / max(rate, RATE_LEAST), now + RETRY_MOST_S)
    -- A jitter of a quarter to either side, so that they do not retry together.
    return min(1 + ceil((promised - now) * (0.75 + 0.5 * random())), RETRY_MOST_S)
end

return M
