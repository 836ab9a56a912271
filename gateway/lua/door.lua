-- The door, asked by the gateway: the same scripts that the servers run, with the same keys (keys.rs).

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

-- Whose door it is. The servers say so with their answers; before that no number is given.
function M.learn(ledger)
    if ledger and state:get("ledger") ~= ledger then state:set("ledger", ledger) end
end

local function tag(event)
    return "{e:" .. event .. "}"
end

-- All of a batch in one call: two integers for each.
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

-- Lets one request in, in one call with those who come at the same time. "number", n |
-- "address_spent", seconds | "already_asking", seconds | "unknown" (only a server can give a number now) |
-- nil, fault
-- `name`: of the request, or nil where it is not to be marked.
function M.arrive(event, user, address, name)
    local ledger = state:get("ledger")
    if not ledger then return "unknown" end
    local one = { event = event, ledger = ledger, user = user, address = address, name = name }
    local said, place = lane.share(event .. " " .. ledger, one, let_in)
    if not said then return nil, place or wire.fault("door_unreachable", "too many wait for an answer") end
    local code, value = said[2 * place - 1], said[2 * place]
    if code == 1 and type(value) == "number" and value >= 1 then return "number", format("%.0f", value) end
    if code == 2 then return "address_spent", value end
    if code == 3 then return "already_asking", value end
    if code == 0 then return "unknown" end
    return nil, wire.fault("no_number", "arrive answered what nobody understands")
end

-- Takes a mark away, if it is still that request's own.
function M.release(event, user, name)
    local of = tag(event)
    local words = { "left:" .. of, "dup:user:" .. of .. ":" .. user, clock.offset_ms(), "", "", "", "", "",
        "live:" .. of, name }
    return wire.run(event, settle, 2, words)
end

-- What the last batch left: free, held, first_end, state, says_ms, now; nothing if that says nothing;
-- nil and a fault.
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
