-- Request ids of 32 hexadecimal digits. They are random, so that they do not reveal the number of requests.

local find, format, gsub, match, sub = string.find, string.format, string.gsub, string.match, string.sub
local byte, type = string.byte, type

local M = {}

-- Random bytes are read in blocks of 256 ids, and converted to digits once.
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
    -- Only in the worker: if read before the fork, the block would be the same in all workers.
    if not digits or used + ID > #digits then read_block() end
    used = used + ID
    return sub(digits, used - ID + 1, used)
end

-- The trace id in a `traceparent` header (W3C Trace Context), if that is well formed.
local function caller_trace(parent)
    if type(parent) ~= "string" or #parent < 55 then return nil end
    local version, trace, span, rest = match(parent, "^([0-9a-f][0-9a-f])%-([0-9a-f]+)%-([0-9a-f]+)%-[0-9a-f][0-9a-f](.*)$")
    if not trace or #trace ~= 32 or #span ~= 16 or version == "ff" then return nil end
    if not find(trace, "[^0]") or not find(span, "[^0]") then return nil end
    if version == "00" then return rest == "" and trace or nil end
    return (rest == "" or sub(rest, 1, 1) == "-") and trace or nil
end

-- The client's id if it is safe in a header and a log line, else that of its trace, else a new one. The servers choose
-- it in the same way.
function M.trace(given, parent)
    if type(given) == "table" then given = given[1] end
    if given and given ~= "" and #given <= 128 and not find(given, "[^!-~]") then return given end
    return parent and caller_trace(parent) or M.new()
end

return M
