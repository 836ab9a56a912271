-- Whose last request through this gateway may have ended otherwise than empty-handed: they are not
-- answered from a hint, because the server may have something else to tell them. Bounded: when it
-- is full, the longest unasked are forgotten.

local dictionary = ngx.shared.remembered

local EMPTY_HANDED = { sold_out = true, held_out = true, not_open = true, closed = true }

local M = {}

-- Before the request passes on: how it ends is not known until it is heard.
function M.begin(event, who)
    dictionary:set(event .. " " .. who, true)
end

-- Whether it ended empty-handed.
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
