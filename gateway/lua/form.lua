-- Checks a reservation's body: is it JSON, and is it certainly complete? The gateway refuses a body that
-- is not JSON. It passes on a body that may be incomplete without a number, so that the request uses no
-- budget before the server reports what is wrong.

local cjson = require "cjson.safe"
local settings = require "settings"
local text = require "text"

local byte, find, gsub, lower, match, sub = string.byte, string.find, string.gsub, string.lower, string.match,
    string.sub
local type = type

local json = cjson.new()
json.decode_invalid_numbers(false)
local decode = json.decode

local M = {}

-- EMPTY: there is no body, and none is required. UNREAD: only the server can parse this body.
local EMPTY, UNREAD = {}, "unread"

function M.says_json(kind)
    if kind == "application/json" then return true end
    if type(kind) ~= "string" then return false end
    return lower(match(kind, "^%s*([^;]-)%s*$") or match(kind, "^%s*([^;]-)%s*;") or "") == "application/json"
end

-- Separators between the digits of a telephone number.
local BETWEEN = {}
for mark in (" -.()/"):gmatch(".") do BETWEEN[byte(mark)] = true end

-- The checks of rules/src/phone.rs. Only the server knows the formats of other regions.
local function surely_phone(phone)
    local length = #phone
    if length > 32 then return false end
    local first = byte(phone) == 43 and 2 or 1
    local digits, a, b, c = 0, 0, 0, 0
    for i = first, length do
        local code = byte(phone, i)
        if code >= 48 and code <= 57 then
            digits = digits + 1
            if digits == 1 then a = code elseif digits == 2 then b = code elseif digits == 3 then c = code end
        elseif not BETWEEN[code] then
            return false
        end
    end
    if first == 2 then
        if a == 56 and b == 50 then
            -- +82, perhaps followed by a superfluous trunk 0.
            local rest = digits - (c == 48 and 3 or 2)
            return rest >= 8 and rest <= 10
        end
        return digits >= 7 and digits <= 15 and a ~= 48
    end
    if settings.region == "KR" then return a == 48 and b ~= 48 and digits >= 9 and digits <= 11 end
    return digits >= 6 and digits <= 15
end

-- The server refuses a known field that occurs twice.
local function once(body, quoted)
    local _, last = find(body, quoted, 1, true)
    return not last or not find(body, quoted, last + 1, true)
end

-- Whether the body certainly has every field that its dialect requires. `sent` is the result of `read`.
function M.complete(body, sent, dialect)
    if sent == EMPTY then return true end
    if type(sent) ~= "table" or byte(body) ~= 123 and not find(body, "^%s*{") then return false end
    -- JSON allows no control characters, but this parser accepts them.
    if find(body, "[%z\1-\8\11\12\14-\31]") then return false end
    if not once(body, '"phone"') then return false end
    local phone = sent.phone
    if phone == nil then
        if dialect ~= "2025-08-17" then return false end
    elseif type(phone) ~= "string" or not surely_phone(phone) then
        return false
    end
    if dialect == "1.1" then
        local name = sent.userName
        if type(name) ~= "string" or not text.surely_printable(name, 100) or not once(body, '"userName"') then
            return false
        end
    end
    return true
end

-- Line and column, from 1, of the character where the parser failed.
local function place(body, at)
    local before = sub(body, 1, math.min(at, #body) - 1)
    local _, lines = gsub(before, "\n", "")
    return lines + 1, #match(before, "[^\n]*$") + 1
end

-- The parsed body, or nil with the line and column of the syntax error.
function M.read(body, dialect)
    if body == "" and dialect == "2025-08-17" then return EMPTY end
    local sent, why = decode(body)
    if sent ~= nil then return sent end
    -- Nesting too deep for this parser, or unusual escapes: the server may still accept it.
    if find(why, "nested", 1, true) or find(why, "escape", 1, true) then return UNREAD end
    if body == "" then return nil, 1, 0 end
    return nil, place(body, tonumber(match(why, "character (%d+)")) or 1)
end

return M
