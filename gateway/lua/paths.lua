-- Classifies a path as far as the gateway needs: is it a reservation, of which event, and in which
-- dialect? Requests to unknown paths are passed on.

local hint = require "hint"

local find, gsub, match, sub = string.find, string.gsub, string.match, string.sub

local M = {}

local STREAM = { streams = true, speaks = false, default = "1.1" }
local OTHER = { speaks = false, default = "1.1" }
local SEED_004 = { speaks = false, default = "v1" }
local ODD = { odd = true, speaks = false, default = "1.1" }
local SEATS = { speaks = true, default = "1.1" }

local function asking(kind, event, default, short)
    return { asks = kind, event = event, muted = hint.muted(event), speaks = true, default = default, short = short }
end

-- The short paths, which mean event 1.
local SHORT = {
    ["/api/v1/seats/reservation/fcfs"] = asking("fcfs", "1", "1.1", true),
    ["/fcfs/join"] = asking("fcfs", "1", "1.1", true),
    ["/api/v1/seats/reservation"] = asking("fcfs", "1", "1.0", true),
    ["/api/v1/seats"] = SEATS,
    ["/api/v1/stream"] = STREAM,
}

-- A whole number in canonical form, small enough for the server's integers.
local function whole(text)
    return #text <= 18 and (text == "0" or sub(text, 1, 1) ~= "0")
end

local function long(path)
    local event, rest = match(path, "^/api/v1/events/(%d+)/seats(.*)$")
    if event then
        if rest == "/reservation/fcfs" then return whole(event) and asking("fcfs", event, "1.1", false) or SEATS end
        if rest == "" or find(rest, "^/[^/]+$") then return SEATS end
        if find(rest, "^/%d+/reservation$") then return whole(event) and asking("chosen", event, "1.1", false) or SEATS end
        return OTHER
    end
    if find(path, "^/v1/") then return SEED_004 end
    if find(path, "^/api/v1/events/%d+/stream$") or find(path, "^/api/v1/room%-types/%d+/stream$") then return STREAM end
    if find(path, "^/api/v1/seats/%d+/reservation$") then return asking("chosen", "1", "1.1", true) end
    if find(path, "^/api/v1/seats/[^/]+$") then return SEATS end
    return OTHER
end

-- After this, one segment is a user id: any text, so it may contain escapes. Whichever location nginx chooses for it,
-- the server sees a path of the admin API.
local USERS = "^(/api/v1/admin/users/)([^/]+)(.*)$"

-- Whether a path is not in our canonical spelling: nginx chooses its location by the decoded path.
local function odd(path)
    if path == "/" then return false end
    local before, user, after = match(path, USERS)
    if before then path = before .. gsub(user, "%%[0-9A-F][0-9A-F]", "x") .. after end
    return find(path, "^[^/]") or find(path, "[^%w%-._~/]") or find(path, "//", 1, true) or find(path, "/$")
        or find(path .. "/", "/%.%.?/")
end

-- Cached per worker, and cleared when it reaches its limit.
local known, count, MOST = {}, 0, 1000

-- `uri` is the raw request line: the server sees the same bytes.
function M.at(uri)
    local path = known[uri]
    if path then return path end
    local mark = find(uri, "?", 1, true)
    local bare = mark and sub(uri, 1, mark - 1) or uri
    path = SHORT[bare] or odd(bare) and ODD or long(bare)
    if count >= MOST then known, count = {}, 0 end
    known[uri], count = path, count + 1
    return path
end

local DIALECTS = { ["1.1"] = true, ["1.0"] = true, ["2025-08-17"] = true }

-- The requested dialect, or nil if the header names an unknown one.
function M.dialect(path, version)
    if version == nil then return path.default end
    if not DIALECTS[version] then return nil end
    return path.speaks and version or path.default
end

return M
