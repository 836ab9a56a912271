-- Chooses the language of messages from Accept-Language, as `http/respond/language.rs` does: the highest weight, among
-- equal weights the first one, `*` for languages that are not named. The default is English.

local find, gmatch, lower, match = string.find, string.gmatch, string.lower, string.match
local tonumber = tonumber

local M = {}

local RANGES_MOST = 32

-- Parses a weight of RFC 9110. Returns nil if it is malformed.
local function weight(text)
    if not match(text, "^[01]$") and not match(text, "^[01]%.%d?%d?%d?$") then return nil end
    local q = tonumber(text)
    return q <= 1 and q or nil
end

-- `ko`, `en` or `*`, and its weight; nil for other languages and malformed entries.
local function read(range)
    local name, rest = match(range, "^[ \t]*([%w*-]+)[ \t]*(.-)[ \t]*$")
    if not name then return nil end
    local primary = name == "*" and name or not find(name, "*", 1, true) and match(lower(name), "^%w+")
    if primary ~= "ko" and primary ~= "en" and primary ~= "*" then return nil end
    if rest == "" then return primary, 1 end
    local q = match(rest, "^;[ \t]*[qQ]=(.*)$")
    q = q and weight(q)
    if q then return primary, q end
end

local function choose(header)
    if find(header, "[^\t -~]") then return "en" end
    local wanted, place, count = {}, {}, 0
    for range in gmatch(header .. ",", "([^,]*),") do
        count = count + 1
        if count > RANGES_MOST then break end
        local name, q = read(range)
        if name and (not wanted[name] or wanted[name] < q) then wanted[name], place[name] = q, count end
    end
    local ko, en = wanted.ko and "ko" or "*", wanted.en and "en" or "*"
    local korean, english = wanted[ko] or 0, wanted[en] or 0
    if korean > english or korean == english and korean > 0 and place[ko] < place[en] then return "ko" end
    return "en"
end

-- Cached per worker, and cleared when it reaches its limit.
local known, count, MOST = {}, 0, 1000

function M.asked()
    local header = ngx.var.http_accept_language
    if not header then return "en" end
    local language = known[header]
    if not language then
        language = choose(header)
        if count >= MOST then known, count = {}, 0 end
        known[header], count = language, count + 1
    end
    return language
end

return M
