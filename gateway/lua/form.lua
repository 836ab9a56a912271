-- The form of what is sent: JSON, and surely complete. What is not JSON is refused here; what may
-- lack something passes on without a number, so that it spends no budget before the server has
-- said what is wrong.

local cjson = require "cjson.safe"
local settings = require "settings"
local text = require "text"

local find, gsub, lower, match, sub = string.find, string.gsub, string.lower, string.match, string.sub
local type = type

local json = cjson.new()
json.decode_invalid_numbers(false)

local M = {}

function M.says_json(kind)
    if kind == "application/json" then return true end
    if type(kind) ~= "string" then return false end
    return lower(match(kind, "^%s*([^;]-)%s*$") or match(kind, "^%s*([^;]-)%s*;") or "") == "application/json"
end

-- As rules/src/phone.rs; the forms of other regions are known to the server alone.
local function surely_korean(rest)
    local length = #rest
    return length >= 8 and length <= 10 and sub(rest, 1, 1) ~= "0"
end

local function surely_phone(phone)
    if #phone > 32 then return false end
    local plus, rest = match(phone, "^(%+?)(.*)$")
    local digits = gsub(rest, "[ %-%.%(%)/]", "")
    if not find(digits, "^%d+$") then return false end
    if plus == "+" then
        if sub(digits, 1, 2) == "82" then return surely_korean((gsub(sub(digits, 3), "^0", ""))) end
        return #digits >= 7 and #digits <= 15 and sub(digits, 1, 1) ~= "0"
    end
    if settings.region == "KR" then
        return sub(digits, 1, 1) == "0" and surely_korean(sub(digits, 2))
    end
    return #digits >= 6 and #digits <= 15
end

-- A known field that stands there twice is refused by the server.
local function once(body, quoted)
    local _, last = find(body, quoted, 1, true)
    return not last or not find(body, quoted, last + 1, true)
end

local function surely(body, sent, dialect)
    if type(sent) ~= "table" or not find(body, "^%s*{") then return false end
    -- JSON has none of these, and this reader would not mind.
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

-- Where the reader stumbled: line and column of a character counted from 1.
local function place(body, at)
    local before = sub(body, 1, math.min(at, #body) - 1)
    local _, lines = gsub(before, "\n", "")
    return lines + 1, #match(before, "[^\n]*$") + 1
end

-- "sure", "unsure", or nil with the line and column where it stops being JSON.
function M.read(body, dialect)
    if body == "" and dialect == "2025-08-17" then return "sure" end
    local sent, why = json.decode(body)
    if sent == nil then
        -- Deeper than this reader goes, or odd escapes: still JSON to the server.
        if find(why, "nested", 1, true) or find(why, "escape", 1, true) then return "unsure" end
        if body == "" then return nil, 1, 0 end
        return nil, place(body, tonumber(match(why, "character (%d+)")) or 1)
    end
    return surely(body, sent, dialect) and "sure" or "unsure"
end

return M
