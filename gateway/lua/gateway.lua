-- The path of a request through the gateway, in order: overload, form, user, content, hint, rate, door; then a
-- server; then the outcome that the server reports.

local address = require "address"
local answer = require "answer"
local bodies = require "bodies"
local buckets = require "buckets"
local door = require "door"
local figures = require "figures"
local form = require "form"
local framing = require "framing"
local hint = require "hint"
local ids = require "ids"
local paths = require "paths"
local remembered = require "remembered"
local servers = require "servers"
local settings = require "settings"
local sifting = require "sifting"
local slots = require "slots"
local text = require "text"
local wrap = require "wrap"

local ngx = ngx
local get_headers, get_method = ngx.req.get_headers, ngx.req.get_method
local find, gsub, lower = string.find, string.gsub, string.lower
local type = type

local HEADERS_MOST = 100

-- The values of AUTH_MODE that the servers support. In any other mode nobody would check the user.
local MODES = { header = true, jwt = true }
if not MODES[settings.auth] then error("AUTH_MODE " .. settings.auth .. ": the servers have no such mode", 0) end

-- All headers, by lower-case name. The metatable is removed: its fallback for missing names (lower case, underscores to
-- dashes) costs more than all the rest.
local function all_headers()
    local headers, truncated = get_headers(HEADERS_MOST)
    return setmetatable(headers, nil), truncated
end

local M = { balance = servers.choose, wrap = wrap.headers, wrapped = wrap.body }

-- Starts the timers of a worker.
function M.begin()
    figures.begin()
    sifting.begin()
end

-- Headers that only a gateway or a proxy may set.
local function is_spoofed(name)
    local plain = gsub(lower(name), "_", "-")
    -- The user header has its own check, whatever its name is.
    if plain == settings.user_header then return false end
    return find(plain, "^x%-fcfs%-") or find(plain, "^x%-gateway%-") or find(plain, "^x%-forwarded%-")
        or plain == "forwarded" or plain == "x-real-ip"
end

-- Cached per worker, and cleared when it reaches its limit.
local judged, judged_count, JUDGED_MOST = {}, 0, 1000

local function spoofed(name)
    local verdict = judged[name]
    if verdict == nil then
        verdict = is_spoofed(name) and true or false
        if judged_count >= JUDGED_MOST then judged, judged_count = {}, 0 end
        judged[name], judged_count = verdict, judged_count + 1
    end
    return verdict
end

local function trusts_user()
    return settings.trust_user_header or ngx.var.gw_trusted == "1"
end

-- Passes the request to a server, without spoofed headers.
local function pass_on(way, headers, trace)
    for header in pairs(headers) do
        if spoofed(header) then ngx.req.clear_header(header) end
    end
    -- In every mode: a server trusts this header because the gateway adds its key.
    if headers[settings.user_header] and not trusts_user() then ngx.req.clear_header(settings.user_header) end
    ngx.var.gw_key, ngx.var.gw_trace = settings.key, trace
    if settings.wrap and ngx.var.arg_wrap == "1" then ngx.req.clear_header("Accept-Encoding") end
    return ngx.exec(way)
end

-- The user, as far as the gateway can tell. Returns the user or nil; a refusal or nil; and whether the
-- request names a user that only the server can validate.
local function who(headers, path, dialect)
    if settings.auth ~= "header" then
        -- Only a server verifies a token. The gateway can see that there is none.
        if not headers["authorization"] then return nil, "unauthorized" end
        return nil
    end
    local user = headers[settings.user_header]
    if user and user ~= "" then
        if type(user) == "table" then return nil, nil, true end
        if not trusts_user() then return nil, "unauthorized" end
        if text.surely_user(user) then return user end
        return nil, nil, true
    end
    -- The oldest dialect may name a telephone number in the body, or no user.
    if dialect == "2025-08-17" and path.short then return nil end
    return nil, "missing_user"
end

-- The key under which to remember a user that only the server can identify.
local function likeness(headers, body)
    if settings.auth ~= "header" then
        local shown = headers["authorization"]
        return type(shown) == "string" and "t " .. ngx.md5(shown) or nil
    end
    return body ~= "" and "b " .. ngx.md5(body) or nil
end

local function whole_body()
    bodies.read()
    local body = ngx.req.get_body_data()
    if body then return body end
    -- nginx writes a body that is larger than its buffer to a file. Our sizes prevent that.
    local file = ngx.req.get_body_file()
    if not file then return "" end
    local handle = assert(io.open(file, "rb"))
    body = handle:read("*a")
    handle:close()
    return body
end

local function keyed(headers)
    local one, other = headers["idempotency-key"], headers["x-idempotency-key"]
    if not one and not other then return false, true end
    local key = one or other
    return true, type(key) == "string" and not (one and other) and text.surely_key(key)
end

-- Seconds after which a reservation request should retry, if there is neither a server for it nor a place in the queue.
-- If the event is sold out or closed, the client is told that instead.
local function overloaded(path)
    local full = servers.full()
    if not full and not slots.full() or hint.refuses(path.event) then return nil end
    return full or slots.retry()
end

-- Refuses a request because the servers are full.
local function refuse_full(dialect, trace, wait)
    ngx.ctx.full = true
    return answer.send("overloaded", dialect, trace, { retry = wait })
end

-- A reservation request.
local function ask(path, dialect, headers, trace)
    local send = answer.send
    -- Check this before reading the body, which costs more than this response.
    local wait = overloaded(path)
    if wait then return refuse_full(dialect, trace, wait) end
    local json = form.says_json(headers["content-type"])
    if not json and dialect ~= "2025-08-17" then return send("not_json_type", dialect, trace) end
    local body = whole_body()
    if not json and body ~= "" then return send("not_json_type", dialect, trace) end

    local user, refused, odd = who(headers, path, dialect)
    if refused then return send(refused, dialect, trace) end

    local sent, line, column = form.read(body, dialect)
    if sent == nil then return send("not_json", dialect, trace, { line = line, column = column }) end

    local event = path.event
    local has_key, key_sure = keyed(headers)
    local known_as = user or likeness(headers, body)
    if not has_key and not odd and not (known_as and remembered.has(event, known_as)) then
        local word, facts = hint.on(event, path.muted, path.asks == "chosen")
        if word then
            if word == "held_out" then facts.caller = user and answer.quoted(user) or "null" end
            return send(word, dialect, trace, facts)
        end
    end

    local var = ngx.var
    local from = address.key(var.binary_remote_addr)
    wait = buckets.address(from) or user and buckets.user(user)
    if wait then return send("rate_limited", dialect, trace, { retry = wait }) end
    if not framing.sound(headers) then return ngx.exit(400) end
    if not servers.usable() then return send("auth_modes_differ", dialect, trace) end
    -- Before the door: a request that no server will take must not use a number.
    local full = servers.full()
    if full then return refuse_full(dialect, trace, full) end
    if not slots.take() then return refuse_full(dialect, trace, slots.retry()) end
    var.gw_slot = "1"

    if user and key_sure and form.complete(body, sent, dialect) then
        local name = ids.new()
        local said, value = door.arrive(event, user, from, not has_key and name or nil)
        if not said then return send(value.kind, dialect, trace) end
        if said == "number" then
            var.gw_number, var.gw_name = value, name
        elseif said ~= "unknown" then
            return send(said, dialect, trace, { retry = value })
        end
    end
    if known_as then
        remembered.begin(event, known_as)
        var.gw_event, var.gw_known_as = event, known_as
    end
    return pass_on("@posting", headers, trace)
end

function M.handle()
    sifting.began()
    local headers, truncated = all_headers()
    local trace = ids.trace(headers["x-request-id"], headers["traceparent"])
    local path = paths.at(ngx.var.request_uri)
    local dialect = paths.dialect(path, headers["api-version"])
    if truncated then return answer.send("too_many_headers", dialect or "1.1", trace) end
    -- nginx requires it in HTTP/1.1, and rejects a second one.
    if not headers["host"] then return ngx.exit(400) end
    local method = get_method()
    if path.asks and method == "POST" and dialect then return ask(path, dialect, headers, trace) end

    local wait = buckets.address(address.key(ngx.var.binary_remote_addr))
    local user = headers[settings.user_header]
    if not wait and type(user) == "string" and settings.auth == "header" and trusts_user() then
        wait = buckets.user(user)
    end
    if wait then return answer.send("rate_limited", dialect or "1.1", trace, { retry = wait }) end
    if path.odd then return answer.send("no_such_path", "1.1", trace) end
    if not framing.sound(headers) then return ngx.exit(400) end
    if not servers.usable() then return answer.send("auth_modes_differ", dialect or "1.1", trace) end
    if method == "GET" or method == "HEAD" then
        if headers["content-length"] or headers["transfer-encoding"] then bodies.read() end
        return pass_on(path.streams and "@streaming" or "@reading", headers, trace)
    end
    -- Read the body here, where the size limit of this location applies.
    bodies.read()
    return pass_on(method == "POST" and "@posting" or "@changing", headers, trace)
end

local function release(_, event, user, name)
    -- wire.lua logs a failure; the mark then expires.
    door.release(event, user, name)
end

-- For Prometheus.
function M.show_figures()
    figures.show(servers.reachable, sifting.share())
end

-- The request has ended, with any outcome.
function M.ended()
    figures.ended()
    sifting.ended(ngx.ctx.full)
    if ngx.var.gw_slot == "1" then
        servers.ended()
        slots.give()
    end
end

-- Handles the response headers of a read.
function M.heard_read()
    servers.heard(ngx.var.upstream_http_x_fcfs_auth, ngx.var.upstream_http_x_fcfs_stops)
    if settings.wrap then wrap.headers() end
end

-- Handles the server's response headers before the response is sent.
function M.heard()
    local var = ngx.var
    servers.heard(var.upstream_http_x_fcfs_auth, var.upstream_http_x_fcfs_stops)
    local full = var.upstream_http_x_fcfs_full
    servers.heard_full(full)
    if full then ngx.ctx.full = true end
    local outcome = var.upstream_http_x_fcfs_outcome
    local event = var.gw_event
    if outcome then
        door.learn(var.upstream_http_x_fcfs_ledger)
        if event ~= "" and remembered.ended(event, var.gw_known_as, outcome) then hint.doubt(event) end
    elseif var.gw_number ~= "" then
        -- The server did not take the request over, so it does not remove the mark. This phase allows no
        -- cosockets, so a timer does it.
        ngx.timer.at(0, release, event, var.gw_known_as, var.gw_name)
    end
    local freed = var.upstream_http_x_fcfs_freed
    -- A refusal freed nothing, and neither did a replayed response to an idempotency key. Otherwise any client could
    -- mute the hint at will.
    local frees = freed and ngx.status < 300 and not var.upstream_http_idempotent_replayed
    if frees then hint.mute(freed) end
    if settings.wrap then wrap.headers() end
end

local MALFORMED = { [400] = true, [403] = true, [405] = true, [408] = true, [411] = true, [414] = true, [416] = true,
    [421] = true, [431] = true, [494] = true, [495] = true, [496] = true, [497] = true, [501] = true,
    [505] = true }

local function refuse()
    local status = ngx.status
    local var = ngx.var
    local headers = all_headers()
    local trace = var.gw_trace
    if trace == "" then trace = ids.trace(headers["x-request-id"], headers["traceparent"]) end
    local path = paths.at(var.request_uri or "/")
    local dialect = paths.dialect(path, headers["api-version"]) or "1.1"
    if status == 413 then
        local kind = "too_large"
        if find(var.request_uri, "^/api/v1/admin/") then
            kind = "too_large_for_admin"
        elseif path.asks and dialect ~= "2025-08-17" and not form.says_json(headers["content-type"]) then
            kind = "not_json_type"
        end
        return answer.send(kind, dialect, trace)
    end
    if status == 502 or status == 503 or status == 504 then
        servers.failed(var.upstream_addr)
        local connected = var.upstream_connect_time
        -- No server was reached, so none removes the mark.
        if var.gw_number ~= "" and (not connected or find(connected, "-$")) then
            release(false, var.gw_event, var.gw_known_as, var.gw_name)
        end
        return answer.send("server_unreachable", dialect, trace)
    end
    if status == 404 then return answer.send("no_such_path", dialect, trace) end
    -- Too many requests of this address are in flight.
    if status == 429 then return answer.send("rate_limited", dialect, trace, { retry = 1 }) end
    return answer.send(MALFORMED[status] and "malformed" or "internal", dialect, trace)
end

-- Replaces nginx's own error pages.
function M.refuse()
    local fine, why = pcall(refuse)
    if fine or ngx.headers_sent then return end
    ngx.log(ngx.ERR, "the refusal could not be sent: ", why)
    ngx.status = 500
    ngx.print('{"success":false,"reason":"internal_error","message":"Something broke on our side.","traceId":"',
        ngx.var.request_id, '"}\n')
end

return M
