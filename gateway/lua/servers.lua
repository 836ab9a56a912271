-- Chooses a server, round robin. A server that could not be reached, or that reports that it is shutting down, is
-- skipped for a moment. Then one request at a time tries it. Requests that cannot be retried avoid it until it has
-- answered others. If all servers failed, each request goes to the one that failed first, so that the first one back is
-- found at once.

local balancer = require "ngx.balancer"
local settings = require "settings"

local floor, max, min = math.floor, math.max, math.min

local state = ngx.shared.state
local servers = settings.servers
-- After a failure no request tries the server for SPARED_S. Then one does, for TRYING_S at most.
local SPARED_S, TRYING_S = 0.25, 1
-- Without a failure for this long the server counts as healthy. Longer than both of the above.
local DOUBTED_S = 1.5
-- A server that shuts down answers for another half second and then closes its connections. No request may be in flight
-- to it then: a request that meets the close is lost.
local STOPS_S = 2
-- A server in another AUTH_MODE gets one request per worker in this time, to find out whether it has changed.
local DIFFERS_S = 1
-- nginx.conf decides whether and when the next server is tried.
local AGAIN = { GET = true, HEAD = true, POST = true }

-- A server that refused a request because it is full counts as full for this long. That is less than it needs for the
-- requests that it has.
local FULL_S = 0.1
-- Then it gets this share of the requests that it had. With every answer its room grows by this much, up to the
-- setting.
local LESS, MORE, LEAST = 0.8, 1 / 32, math.max(1, math.floor(settings.server_requests / 16))

local M = {}
local turn = math.random(#servers)

for place, server in ipairs(servers) do
    server.place, server.doubted, server.spared = place, "doubted:" .. server.name, "spared:" .. server.name
    -- Since when it has not answered. These are keys in the shared dictionary.
    server.silent, server.stops = "silent:" .. server.name, "stops:" .. server.name
    -- Reservation requests of this worker in flight at the server. Each of them has a slot.
    server.busy = 0
    -- The maximum of these.
    server.room = settings.server_requests
end

-- Whether a server is reachable, as far as is known.
function M.reachable(name)
    return not state:get("doubted:" .. name)
end

-- For how many requests of this worker the servers have room, as far as is known. An unreachable server has none,
-- unless there is no other.
function M.room()
    local room, first = 0, floor(servers[1].room)
    for _, server in ipairs(servers) do
        if not state:get(server.doubted) then room = room + floor(server.room) end
    end
    return room > 0 and room or first
end

-- How many servers run in another mode, as far as this worker knows. No request goes to a server before its time
-- `differs`.
local differing = 0

-- Whether a request may be passed on: not while all servers run in another mode.
function M.usable()
    if differing < #servers then return true end
    local now = ngx.now()
    for _, server in ipairs(servers) do
        if server.differs <= now then
            -- Only this request probes the server.
            server.differs, server.trial = now + DIFFERS_S, true
            return true
        end
    end
    return false
end

-- Whether round robin may choose the server, as far as its mode matters.
local function fits(server)
    if not server.differs then return true end
    local now = ngx.now()
    if server.trial or server.differs <= now then
        server.differs, server.trial = now + DIFFERS_S, nil
        return true
    end
    return false
end

-- `mode` and `stops` are what the server reports. An older server reports neither.
function M.heard(mode, stops)
    local server = ngx.ctx.server
    if not mode or not server then return end
    if stops then
        state:set(server.doubted, true, STOPS_S + DOUBTED_S)
        state:set(server.spared, true, STOPS_S)
        state:set(server.silent, ngx.now())
        state:set(server.stops, true)
    elseif state:get(server.silent) then
        state:delete(server.silent)
        -- It was shut down cleanly and started again, so it counts as healthy.
        if state:get(server.stops) then
            state:delete(server.stops)
            state:delete(server.doubted)
        end
    end
    if mode == settings.auth then
        if server.differs then differing, server.differs, server.trial = differing - 1, nil, nil end
        return
    end
    if not server.differs then
        differing = differing + 1
        ngx.log(ngx.ERR, "AUTH_MODE is ", settings.auth, " here and ", mode, " at the server ", server.name,
            ": it gets no requests until both are the same")
    end
    server.differs = ngx.now() + DIFFERS_S
end

-- Seconds after which to retry, if all servers were full a moment ago.
function M.full()
    local now, told = ngx.now(), 1
    for _, server in ipairs(servers) do
        if not server.full_until or server.full_until <= now then return nil end
        if server.told > told then told = server.told end
    end
    -- A jitter of a quarter to either side, so that clients do not retry together.
    local wait = math.ceil(told * (0.75 + 0.5 * math.random()))
    return wait > 30 and 30 or wait
end

-- The server answered. If it refused the request because it is full, refused clients should retry after `seconds`.
function M.heard_full(seconds)
    local server = ngx.ctx.server
    if not server then return end
    if not seconds then
        server.room = min(server.room + MORE, settings.server_requests)
        return
    end
    local now = ngx.now()
    -- Many requests in flight are refused at once: reduce its room only once.
    if not server.full_until or server.full_until <= now then server.room = max(server.busy * LESS, LEAST) end
    server.full_until, server.told = now + FULL_S, tonumber(seconds) or 1
end

-- Whether the server has room for one more request.
local function has_room(server, slot)
    return not slot or server.busy + 1 <= server.room
end

-- Whether the server may get a request. `again` says whether another server may get it if this one does not answer.
local function trusted(server, again)
    if not again and state:get(server.silent) then return false end
    return not state:get(server.doubted) or (again and state:add(server.spared, true, TRYING_S))
end

local function next_one(slot, again)
    local failed_first, since
    for _ = 1, #servers do
        turn = turn % #servers + 1
        local server = servers[turn]
        if has_room(server, slot) and (differing == 0 or fits(server)) then
            if trusted(server, again) then return server end
            local at = state:get(server.silent) or 0
            if not since or at < since then failed_first, since = turn, at end
        end
    end
    turn = failed_first or turn % #servers + 1
    return servers[turn]
end

local function failed(name)
    state:set("doubted:" .. name, true, DOUBTED_S)
    state:set("spared:" .. name, true, SPARED_S)
    state:set("silent:" .. name, ngx.now())
end

-- A request with a slot has ended at its server. The server is kept in a variable, because error pages clear `ngx.ctx`.
function M.ended()
    local server = servers[tonumber(ngx.var.gw_server)]
    if server then server.busy, ngx.var.gw_server = server.busy - 1, "" end
end

function M.choose()
    local again = AGAIN[ngx.req.get_method()]
    -- A retry: the first server did not respond or could not be reached.
    if balancer.get_last_failure() then
        local server = ngx.ctx.server
        if server then failed(server.name) end
        M.ended()
    elseif #servers > 1 and again then
        balancer.set_more_tries(#servers - 1)
    end
    local slot = ngx.var.gw_slot == "1"
    local server = next_one(slot, again)
    ngx.ctx.server = server
    if slot then server.busy, ngx.var.gw_server = server.busy + 1, server.place end
    local ok, why = balancer.set_current_peer(server.host, server.port)
    if not ok then ngx.log(ngx.ERR, "the server ", server.name, " cannot be used: ", why) end
end

-- `address` is `$upstream_addr`; its last entry is the server that was tried last.
function M.failed(address)
    local last = address and address:match("([^, ]+)$")
    if last then failed(last) end
end

return M
