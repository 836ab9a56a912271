-- How many reservation requests this worker has at the servers. Beyond that they wait here, briefly and in
-- order, and are then refused: never more wait at the servers than they can take.

local semaphore = require "ngx.semaphore"
local settings = require "settings"

local most = settings.server_requests * #settings.servers
-- As many again may wait, for this long.
local WAIT_S = 0.25

local M = {}
local free, waiting = most, 0
local turn = semaphore.new()

-- Takes a slot; false: there is none, and too many wait or the wait was too long.
function M.take()
    if free > 0 then
        free = free - 1
        return true
    end
    if waiting >= most then return false end
    waiting = waiting + 1
    local taken = turn:wait(WAIT_S)
    waiting = waiting - 1
    return taken and true or false
end

-- Gives a slot to the one who has waited longest, or back.
function M.give()
    if turn:count() < 0 then turn:post(1) else free = free + 1 end
end

return M
