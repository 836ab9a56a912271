-- Refuses header lines that end with a bare line feed. nginx accepts one as the end of a line. Another proxy may take
-- it for part of a value, and pass on a header that it would otherwise have removed.
--
-- nginx overwrites the end of each header with a NUL, and `raw_header` turns that into CR before a line feed, else into
-- a colon. So a bare line feed cannot be seen directly: the next line no longer begins after CR LF. There are then
-- fewer such lines than headers, or the last four bytes are not an empty line.

local byte, sub = string.byte, string.sub
local http_version, raw_header = ngx.req.http_version, ngx.req.raw_header
local pairs, type = pairs, type

local M = {}

-- Bytes of the header names that nginx accepts. It drops headers with other names, so they count on neither side.
local KEPT = { [45] = true }
for _, range in ipairs { { 48, 57 }, { 65, 90 }, { 97, 122 } } do
    for code = range[1], range[2] do KEPT[code] = true end
end

local CR, LF, COLON = 13, 10, 58

-- The number of lines that begin after CR LF with a name that nginx accepts.
local function lines(raw)
    local count, i, last = 0, 1, #raw
    while i < last do
        local code = byte(raw, i)
        i = i + 1
        if code == CR and byte(raw, i) == LF then
            local from = i + 1
            i = from
            while KEPT[byte(raw, i)] do i = i + 1 end
            code = byte(raw, i)
            if i > from and (code == COLON or code == CR) then count = count + 1 end
        end
    end
    return count
end

-- `headers` contains all headers, by name.
function M.sound(headers)
    -- HTTP/2 has no lines. nginx reports no version number for versions that it does not know.
    local version = http_version()
    if version and version >= 2 then return true end
    local count = 0
    for _, value in pairs(headers) do count = count + (type(value) == "table" and #value or 1) end
    local raw = raw_header()
    return sub(raw, -4) == "\r\n\r\n" and lines(raw) == count
end

return M
