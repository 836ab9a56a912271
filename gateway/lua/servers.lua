-- Which server: in turn. One that could not be reached is left out for a moment, and then found out about by
-- one request at a time. All of them failed: in turn all the same, so that the first one back is found at once.

local balancer = require "ngx.balancer"
local settings = require "settings"

local state = ngx.shared.state
local servers = settings.servers
-- After a failure nobody tries for so long; then one does, for as long as a connection may take.
local SPARED_S, TRYING_S = 0.25, 1
-- No failure for so long: as if nothing had been. Longer than both of these.
local DOUBTED_S = 1.5
-- Whether the next one is asked, and when, is said in nginx.conf.
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
    -- The second try: the first server did not answer, or could not be reached.
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

-- By the address it was tried at, the last of several.
function M.failed(address)
    local last = address and address:match("([^, ]+)$")
    if last then failed(last) end
end

return M
