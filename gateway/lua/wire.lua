-- Connections to Redis, single or Cluster. Each new connection is checked once: a Redis that may evict keys
-- or is read-only is not used. The name of a connection pool contains the `run_id` of its Redis, so every
-- connection taken from the pool leads to that run.

local clock = require "clock"
local figures = require "figures"
local settings = require "settings"

local known, redis = pcall(require, "resty.redis")
if not known then redis = require "nginx.redis" end

local find, match = string.find, string.match
local max, min = math.max, math.min
local concat, unpack = table.concat, unpack

-- Timeout for connecting and the reply together. It is less than the one second in which every request must
-- get a response. It is not much less, because a busy worker is late itself, which does not mean that Redis
-- is down.
local PATIENCE_MS = 700
-- Timeout for one node of a cluster, short enough to try another one.
local NODE_MS = settings.redis.cluster and PATIENCE_MS / 2 or PATIENCE_MS
-- After a failure other requests fail at once, without a new attempt, for this long.
local COOLING_MS = 100
local IDLE_MS, POOL, WAITING = 60000, 64, 4096
local REDIRECTS = 4

local M = {}

-- Nodes by name, per worker. Fields: host, port, run_id, cool (backoff until), why (the last error).
local nodes = {}

local function node_at(host, port)
    local name = host .. ":" .. port
    local node = nodes[name]
    if not node then
        node = { name = name, host = host, port = tonumber(port), cool = 0 }
        nodes[name] = node
    end
    return node
end

local seeds = {}
for i, at in ipairs(settings.redis.nodes) do seeds[i] = node_at(at.host, at.port) end

-- The node of each event's keys, as far as Redis has redirected us.
local homes, homes_count, HOMES_MOST = {}, 0, 10000

local function remember_home(event, node)
    if not homes[event] then
        if homes_count >= HOMES_MOST then homes, homes_count = {}, 0 end
        homes_count = homes_count + 1
    end
    homes[event] = node
end

-- Errors that mean that the node cannot serve the call, now or at all.
local AWAY = { "^LOADING", "^CLUSTERDOWN", "^TRYAGAIN", "^ASK ", "^MOVED ", "^MASTERDOWN", "^READONLY", "^NOAUTH",
    "^WRONGPASS", "^NOPERM" }
local UNFIT = { "^MASTERDOWN", "^READONLY", "^NOAUTH", "^WRONGPASS", "^NOPERM" }

local function any(patterns, words)
    for i = 1, #patterns do
        if find(words, patterns[i]) then return true end
    end
    return false
end

-- At most one log line a second, however many requests fail.
local complained = 0

local function fault(kind, why)
    local now = clock.now_ms()
    if now - complained >= 1000 then
        complained = now
        ngx.log(ngx.WARN, "the door: ", why)
    end
    return { kind = kind, why = why }
end

local function cooled(node, why)
    node.cool, node.why = clock.now_ms() + COOLING_MS, why
    return nil, fault("door_unreachable", node.name .. ": " .. why)
end

-- The checks of `fit` in door/redis/connection.rs. Returns the run_id, or nil and the reason.
local function look(connection)
    local at = settings.redis
    if at.password then
        local said, why
        if at.user then said, why = connection:auth(at.user, at.password) else said, why = connection:auth(at.password) end
        if not said then return nil, why end
    end
    if at.database then
        local said, why = connection:select(at.database)
        if not said then return nil, why end
    end
    local info, why = connection:info("server", "memory", "replication")
    if not info then return nil, why end
    local version = match(info, "redis_version:(%d+)")
    if not version or tonumber(version) < 7 then return nil, "Redis 7 or later is needed" end
    if not find(info, "maxmemory_policy:noeviction", 1, true) then return nil, "maxmemory-policy must be noeviction" end
    if not find(info, "role:master", 1, true) then return nil, "this Redis is a replica" end
    return match(info, "run_id:(%x+)")
end

-- Sets the timeout to the time left until the deadline.
local function hurry(connection, ends)
    connection:set_timeout(max(1, ends - clock.now_ms()))
end

-- TLS, with the certificate verified. Both Redis clients keep their socket under this name.
local function secure(connection)
    local socket = connection._sock
    local done, why = socket:sslhandshake(false, settings.redis.tls, true)
    -- lua-nginx-module 0.10.23 closes the connection if the certificate is wrong, but returns true if the handshake
    -- did not have to wait.
    if done and not socket:getreusedtimes() then return nil, "the certificate was not accepted" end
    return done, why
end

-- Returns a checked connection, nil, and whether it may go back to the pool; or nil and a fault.
local function connect(node, ends)
    if node.cool > clock.now_ms() then return nil, fault("door_unreachable", node.name .. ": " .. node.why) end
    local connection = redis:new()
    hurry(connection, ends)
    local pool = { pool = node.name .. "|" .. (node.run_id or ""), pool_size = POOL, backlog = WAITING }
    local ok, why = connection:connect(node.host, node.port, pool)
    if not ok then return cooled(node, why or "cannot be reached") end
    if connection:get_reused_times() > 0 then return connection, nil, true end
    hurry(connection, ends)
    if settings.redis.tls then
        local safe, unsafe = secure(connection)
        if not safe then
            connection:close()
            return cooled(node, "TLS: " .. (unsafe or "closed"))
        end
        hurry(connection, ends)
    end
    local run_id, unfit = look(connection)
    if not run_id then
        connection:close()
        return cooled(node, unfit or "closed")
    end
    -- If the pool is named after another run, use the connection once.
    local keep = run_id == node.run_id
    node.run_id = run_id
    return connection, nil, keep
end

local function ask(connection, script, keys, words)
    local said, why = connection:evalsha(script.sha, keys, unpack(words))
    if said == false and find(why, "^NOSCRIPT") then return connection:eval(script.text, keys, unpack(words)) end
    return said, why
end

local function on(node, script, keys, words, run_id_at, ends)
    local connection, broken, keep = connect(node, ends)
    if not connection then return nil, broken end
    local reused = connection:get_reused_times() > 0
    if run_id_at then words[run_id_at] = node.run_id end
    hurry(connection, ends)
    local said, why = ask(connection, script, keys, words)
    if said == nil then
        connection:close()
        -- Redis may have closed the pooled connection; try a new one.
        if reused and why ~= "timeout" then return on(node, script, keys, words, run_id_at, ends) end
        return cooled(node, why or "closed")
    end
    if said == false and any(UNFIT, why) then
        connection:close()
        return cooled(node, why)
    end
    if keep then connection:set_keepalive(IDLE_MS, POOL) else connection:close() end
    if said ~= false then return said end
    return nil, fault(any(AWAY, why) and "door_unreachable" or "door_failed", node.name .. ": " .. why), why
end

local function run(event, script, keys, words, run_id_at)
    local node, tried, broken = homes[event], 0, nil
    local seed, ends = 1, clock.now_ms() + PATIENCE_MS
    while tried < REDIRECTS do
        tried = tried + 1
        local here = node or seeds[seed]
        if not here then break end
        local said, moved
        said, broken, moved = on(here, script, keys, words, run_id_at, min(ends, clock.now_ms() + NODE_MS))
        if said then return said end
        local host, port = match(moved or "", "^MOVED %d+ (.+):(%d+)$")
        if host and settings.redis.cluster then
            node = node_at(host, port)
            remember_home(event, node)
        elseif settings.redis.cluster and broken.kind == "door_unreachable" and not moved then
            -- The node is down: ask the others where its slots are now.
            if node then
                homes[event], node = nil, nil
            else
                seed = seed + 1
            end
        else
            break
        end
    end
    return nil, broken
end

-- Runs a script on the keys of one event. Returns its reply, or nil and a fault.
-- `run_id_at`: the index of the word to replace by the run_id of the Redis in use.
function M.run(event, script, keys, words, run_id_at)
    local began = ngx.now()
    local said, broken = run(event, script, keys, words, run_id_at)
    figures.called(ngx.now() - began, said)
    return said, broken
end

M.fault = fault

-- Loads a script: its text, and the SHA-1 that EVALSHA uses.
function M.script(path)
    local file = assert(io.open(path, "rb"))
    local words = file:read("*a")
    file:close()
    local hex = {}
    for i, b in ipairs { ngx.sha1_bin(words):byte(1, -1) } do hex[i] = ("%02x"):format(b) end
    return { text = words, sha = concat(hex) }
end

return M
