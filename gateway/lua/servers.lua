-- Chooses a server, round robin. A server that could not be reached is skipped for a moment, and then tried
-- by one request at a time. If all servers failed, round robin goes on, so that the first one back is found
-- at once.

local balancer = require "ngx.balancer"
local settings = require "settings"

local state = ngx.shared.state
local servers = settings.servers
-- After a failure no request tries the server for SPARED_S. Then one does, for TRYING_S at most.
local SPARED_S, TRYING_S = 0.25, 1
-- Without a failure for this long the server counts as healthy. Longer than both of the above.
local DOUBTED_S = 1.5
-- nginx.conf decides whether and when the next server is tried.
local AGAIN = { GET = true, HEAD = true, POST = true }

local M = {}
local turn = math.random(#servers)

for _, server in ipairs(servers) do
    server.doubted, server.spared = "doubted:" .. server.name, "spared:" .. server.name
end

local function next_one()
    for _ = 1, #servers do
        turn = turn % #servers + 1
        local server = servers[turn]
        if not state:get(server.doubted) or state:add(server.spared, true, TRYING_S) then return server end
    end
    turn = turn % #servers + 1
    return servers[turn]
end

local function failed(name)
    state:set("doubted:" .. name, true, DOUBTED_S)
    state:set("spared:" .. name, true, SPARED_S)
end

function M.choose()
    -- A retry: the first server did not respond or could not be reached.
    if balancer.get_last_failure() then
        local server = ngx.ctx.server
        if server then failed(server.name) end
    elseif #servers > 1 and AGAIN[ngx.req.get_method()] then
        balancer.set_more_tries(#servers - 1)
    end
    local server = next_one()
    ngx.ctx.server = server
    local ok, why = balancer.set_current_peer(server.host, server.port)
    if not ok then ngx.log(ngx.ERR, "the server ", server.name, " cannot be used: ", why) end
end

-- `address` is `$upstream_addr`; its last entry is the server that was tried last.
function M.failed(address)
    local last = address and address:match("([^, ]+)$")
    if last then failed(last) end
end

return M
