-- How many reservation requests this worker has at the servers. Beyond that they wait here, briefly and in
-- order, and are then refused: never more wait at the servers than they can take. servers.lua keeps the share of
-- each server.

local semaphore = require "ngx.semaphore"
local servers = require "servers"
local settings = require "settings"

-- As many again as may be at the servers may wait, for this long.
local WAIT_S = 0.25

local M = {}
local taken, waiting = 0, 0
local turn = semaphore.new()

-- Takes a slot; false: there is none, and too many wait or the wait was too long.
function M.take()
    -- A server that cannot be reached takes nothing.
    local most = settings.server_requests * servers.up()
    if taken < most then
        taken = taken + 1
        return true
    end
    if waiting >= most then return false end
    waiting = waiting + 1
    local got = turn:wait(WAIT_S)
    waiting = waiting - 1
    return got and true or false
end

-- Gives a slot to the one who has waited longest, or back.
function M.give()
    if turn:count() < 0 then turn:post(1) else taken = taken - 1 end
end

return M
