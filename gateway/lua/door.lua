-- The door, called by the gateway: the same scripts that the servers run, with the same keys (keys.rs).

local clock = require "clock"
local lane = require "lane"
local settings = require "settings"
local wire = require "wire"

local format = string.format

local scripts = settings.scripts
local arrive, settle, left = wire.script(scripts .. "/arrive.lua"), wire.script(scripts .. "/settle.lua"),
    wire.script(scripts .. "/left.lua")

local state = ngx.shared.state

local M = {}

-- Stores the ledger id, which the servers send with their responses. Until then the gateway assigns no number.
function M.learn(ledger)
    if ledger and state:get("ledger") ~= ledger then state:set("ledger", ledger) end
end

local function tag(event)
    return "{e:" .. event .. "}"
end

-- Sends a batch in one call. The reply has two integers per request.
local function let_in(batch)
    local event, count = batch[1].event, batch.count
    local of = tag(event)
    local door = "door:" .. of
    local words = { door, "fcfs:seq:" .. of }
    local keys = 2 + 2 * count
    words[keys + 1], words[keys + 2], words[keys + 3] = batch[1].ledger, "", clock.offset_ms()
    words[keys + 4], words[keys + 5], words[keys + 6] = settings.mark_ms, settings.ip_limit, settings.ip_window_ms
    for i = 1, count do
        local one = batch[i]
        words[1 + 2 * i] = one.name and "dup:user:" .. of .. ":" .. one.user or door
        words[2 + 2 * i] = "dup:ip:" .. of .. ":" .. one.address
        words[keys + 6 + i] = one.name or ""
    end
    return wire.run(event, arrive, keys, words, keys + 2)
end

-- Gets an arrival number for one request, in one call with the requests that arrive at the same time.
-- Returns one of: "number", n | "address_spent", seconds | "already_asking", seconds | "unknown" (only a
-- server can assign a number now) | nil, fault.
-- `name`: the name of the request; nil: do not mark the user.
function M.arrive(event, user, address, name)
    local ledger = state:get("ledger")
    if not ledger then return "unknown" end
    local one = { event = event, ledger = ledger, user = user, address = address, name = name }
    local said, place = lane.share(event .. " " .. ledger, one, let_in)
    if not said then return nil, place or wire.fault("door_unreachable", "no turn in time: too many requests are waiting") end
    local code, value = said[2 * place - 1], said[2 * place]
    if code == 1 and type(value) == "number" and value >= 1 then return "number", format("%.0f", value) end
    if code == 2 then return "address_spent", value end
    if code == 3 then return "already_asking", value end
    if code == 0 then return "unknown" end
    return nil, wire.fault("no_number", "arrive.lua returned an unexpected reply")
end

-- Removes a mark, if this request still owns it.
function M.release(event, user, name)
    local of = tag(event)
    local words = { "left:" .. of, "dup:user:" .. of .. ":" .. user, clock.offset_ms(), "", "", "", "", "",
        "live:" .. of, name }
    return wire.run(event, settle, 2, words)
end

-- What the last batch left: free, held, first_end, state, says_ms, now. An empty table if that is out of
-- date; nil and a fault if Redis failed.
function M.left(event)
    local said, fault = wire.run(event, left, 1, { "left:" .. tag(event), clock.offset_ms() })
    if not said then return nil, fault end
    if #said < 7 then return {} end
    return {
        free = tonumber(said[2]), held = tonumber(said[3]), first_end = tonumber(said[4]), state = said[5],
        says_ms = tonumber(said[6]), now = tonumber(said[7]),
    }
end

return M
