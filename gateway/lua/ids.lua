-- Request ids of 32 hexadecimal digits: a random prefix per worker, then a counter. They are unique
-- without a random number per request.

local find, format = string.find, string.format
local type = type

local M = {}

local beginning, count

local function begin()
    local random = assert(io.open("/dev/urandom", "rb"))
    beginning, count = "", 0
    for _, b in ipairs { random:read(8):byte(1, 8) } do beginning = beginning .. format("%02x", b) end
    random:close()
end

function M.new()
    -- Only in the worker: drawn before the fork, the prefix would be the same in all of them.
    if not beginning then begin() end
    count = count + 1
    return beginning .. format("%016x", count)
end

-- The client's id if it is safe in a header and a log line, else a new one.
function M.trace(given)
    if not given then return M.new() end
    if type(given) == "table" then given = given[1] end
    if given ~= "" and #given <= 128 and not find(given, "[^!-~]") then return given end
    return M.new()
end

return M
