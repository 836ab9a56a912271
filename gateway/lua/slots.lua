-- How many reservation requests this worker has at the servers. Beyond that they wait here, briefly and in
-- order, and are then refused: never more wait at the servers than they can take. servers.lua keeps the share of
-- each server.

local semaphore = require "ngx.semaphore"
local servers = require "servers"

local ceil, max, min, random = math.ceil, math.max, math.min, math.random

-- Nobody waits longer for a slot.
local WAIT_S = 0.25
-- So many may wait while the rate is not known, or as many as the servers have room for.
local WAITING_LEAST = 64
-- The rate is counted over at least this time.
local COUNTED_S = 0.25
-- The rate that is assumed while less is measured.
local RATE_LEAST = 200
local RETRY_MOST_S = 30

local M = {}
local taken, waiting = 0, 0
local turn = semaphore.new()

-- Slots given back per second, and since the rate was counted last.
local rate, given, counted = 0, 0, 0
-- The refused fill the servers up to this moment.
local promised = 0

local function count(now)
    given = given + 1
    local passed = now - counted
    if passed >= COUNTED_S then
        -- Over a longer time without requests it says nothing.
        if passed < 4 * COUNTED_S then rate = given / passed end
        given, counted = 0, now
    end
end

-- Whether nobody else may wait: as many do as get a slot in half of the time, so that few wait in vain.
local function crowded(most)
    return waiting >= max(min(most, WAITING_LEAST), rate * WAIT_S / 2)
end

-- Takes a slot; false: there is none, and too many wait or the wait was too long.
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

-- Gives a slot to the one who has waited longest, or back.
function M.give()
    count(ngx.now())
    -- The servers may have room for fewer than before.
    if turn:count() < 0 and taken <= servers.room() then turn:post(1) else taken = taken - 1 end
end

-- Whether a request that came now would find neither a slot nor a place to wait.
function M.full()
    -- Most of the time, and it needs no look at the servers.
    if waiting == 0 then return false end
    local most = servers.room()
    return taken >= most and crowded(most)
end

-- Seconds after which a request that found no slot should come again: behind those who were told so before it.
function M.retry()
    local now = ngx.now()
    promised = min(max(promised, now) + 1 / max(rate, RATE_LEAST), now + RETRY_MOST_S)
    -- A quarter to either side, so that they do not come back together.
    return min(1 + ceil((promised - now) * (0.75 + 0.5 * random())), RETRY_MOST_S)
end

return M
