-- Reads a request's body, all of it within GATEWAY_BODY_TIME. nginx limits only the time between two reads, so a client
-- that sends a byte now and then could hold a connection for hours.

local settings = require "settings"

local floor, huge = math.floor, math.huge
local now, read_body, worker_count = ngx.now, ngx.req.read_body, ngx.worker.count
local kill, spawn, wait = ngx.thread.kill, ngx.thread.spawn, ngx.thread.wait
local status = coroutine.status
local tonumber = tonumber

-- The watcher costs a tenth of a refusal from the hint. It is left out only while this worker has more than this many
-- bodies in 10 ms and every request on the gateway is answered as soon as it is read: then no body is slow.
local WATCHED_PER_TICK = 20

local M = {}

local tick, seen, some_wait = 0, 0, true

local function watched()
    local this = floor(now() * 100)
    if this ~= tick then
        tick, seen = this, 0
        -- Requests in flight. Each worker is processing one of them; the others wait for something.
        some_wait = (tonumber(ngx.var.connections_writing) or huge) > worker_count()
    end
    seen = seen + 1
    return some_wait or seen <= WATCHED_PER_TICK
end

local function read()
    read_body()
end

local function give_up()
    ngx.sleep(settings.body_time)
    -- nginx resets the connection.
    ngx.exit(444)
end

function M.read()
    if not watched() then return read_body() end
    local reader = spawn(read)
    -- A thread that waits for the client has the status running; a thread that has ended waits for its parent.
    if status(reader) ~= "running" then return end
    local watcher = spawn(give_up)
    wait(reader)
    kill(watcher)
end

return M
