-- Users whose last request through this gateway may have succeeded. The hint does not answer them, because the server
-- may have a different answer, such as their seat. The dictionary is bounded: when it is full, the least recently used
-- users are evicted.

local dictionary = ngx.shared.remembered

local EMPTY_HANDED = { sold_out = true, held_out = true, not_open = true, closed = true }

local M = {}

-- Called before the request is passed on: its outcome is unknown until the server responds.
function M.begin(event, who)
    dictionary:set(event .. " " .. who, true)
end

-- Records the outcome. Returns true if the user got nothing.
function M.ended(event, who, outcome)
    if EMPTY_HANDED[outcome] then
        dictionary:delete(event .. " " .. who)
        return true
    end
    dictionary:set(event .. " " .. who, true)
    return false
end

function M.has(event, who)
    return dictionary:get(event .. " " .. who) ~= nil
end

return M
