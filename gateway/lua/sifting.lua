-- Reads the length of the listener's backlog and admits as many new connections as can be served soon. One worker does
-- this for all, because they share the listener. The first request of each connection is counted.

local listener = require "listener"
local sieve = require "sieve"

local state = ngx.shared.state

-- The interval between two looks: while nobody waits and everybody is admitted, and otherwise.
local CALM_S, BUSY_S = 0.02, 0.01

local M = {}
local BEGAN, SERVED, REFUSED, SHARE = "sifting:began", "sifting:served", "sifting:refused", "sifting:share"
-- The pid of the worker that looks. After a reload it is a new one, while the old one is still shutting down.
local LOOKS = "sifting:looks"

local function first()
    return ngx.var.connection_requests == "1"
end

-- A request has arrived.
function M.began()
    if first() then state:incr(BEGAN, 1, 0) end
end

-- The request has ended. `refused`: because the servers are full.
function M.ended(refused)
    if first() then state:incr(refused and REFUSED or SERVED, 1, 0) end
end

-- The share of new connections that is admitted.
function M.share()
    return (state:get(SHARE) or listener.ALL) / listener.ALL
end

local law, last, before = sieve.new(), nil, { dropped = 0 }

local function since(key)
    local total = state:get(key) or 0
    local new = total - (before[key] or total)
    before[key] = total
    return new
end

local function look(waiting, limit, dropped)
    local now = ngx.now()
    local elapsed = now - last
    -- The kernel's counter wraps at 2^32.
    local newly_dropped = (dropped - before.dropped) % 2 ^ 32
    if elapsed <= 0 then return end
    last, before.dropped = now, dropped
    local share = sieve.look(law, {
        elapsed = elapsed, began = since(BEGAN), served = since(SERVED), refused = since(REFUSED),
        dropped = newly_dropped, waiting = waiting, limit = limit,
    })
    if not share then return true end
    state:set(SHARE, share)
    return listener.let_in(share)
end

local function again(premature)
    if premature or state:get(LOOKS) ~= ngx.worker.pid() then return listener.finish() end
    local waiting, limit, dropped = listener.length()
    if not waiting or look(waiting, limit, dropped) == false then
        ngx.log(ngx.WARN, "new connections can no longer be dropped")
        state:delete(SHARE)
        return listener.finish()
    end
    local calm = waiting == 0 and law.share == listener.ALL and law.calm > CALM_S
    local ok, why = ngx.timer.at(calm and CALM_S or BUSY_S, again)
    if not ok then ngx.log(ngx.ERR, "the backlog is no longer looked at: ", why) end
end

-- Starts the timer of a worker.
function M.begin()
    if ngx.worker.id() ~= 0 then return end
    state:delete(SHARE)
    state:set(LOOKS, ngx.worker.pid())
    local fine, seen = pcall(listener.begin)
    if not fine or not seen then
        return ngx.log(ngx.NOTICE, "new connections cannot be dropped: everybody is let in who finds room in the backlog",
            fine and "" or ": ", fine and "" or seen)
    end
    last = ngx.now()
    local _, _, dropped = listener.length()
    before.dropped = dropped
    for _, key in ipairs { BEGAN, SERVED, REFUSED } do since(key) end
    again()
end

return M
