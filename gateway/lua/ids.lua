-- Request ids of 32 hexadecimal digits. They are random, so that they tell nobody how many requests there
-- were.

local find, format, gsub, sub = string.find, string.format, string.gsub, string.sub
local byte, type = string.byte, type

local M = {}

-- Random bytes are read in blocks of 256 ids, and written as digits once.
local BLOCK = 4096
local ID = 32
local digits, used

local function read_block()
    local random = assert(io.open("/dev/urandom", "rb"))
    local bytes = random:read(BLOCK)
    random:close()
    digits, used = gsub(bytes, ".", function(c) return format("%02x", byte(c)) end), 0
end

function M.new()
    -- Only in the worker: read before the fork, the block would be the same in all of them.
    if not digits or used + ID > #digits then read_block() end
    used = used + ID
    return sub(digits, used - ID + 1, used)
end

-- The client's id if it is safe in a header and a log line, else a new one.
function M.trace(given)
    if not given then return M.new() end
    if type(given) == "table" then given = given[1] end
    if given ~= "" and #given <= 128 and not find(given, "[^!-~]") then return given end
    return M.new()
end

return M
