-- Which server: in turn, without one that could not be reached a moment ago. All of them failed:
-- in turn all the same, so that the first one back is found at once.

local balancer = require "ngx.balancer"
local settings = require "settings"

local state = ngx.shared.state
local servers = settings.servers
local DOWN_S = 0.25
local READS = { GET = true, HEAD = true }

local M = {}
local turn = math.random(#servers)

local function next_one()
    for _ = 1, #servers do
        turn = turn % #servers + 1
        local server = servers[turn]
        if not state:get(server.down) then return server end
    end
    turn = turn % #servers + 1
    return servers[turn]
end

for _, server in ipairs(servers) do server.down = "down:" .. server.name end

function M.choose()
    -- The second try of a reading request: the first server did not answer.
    if balancer.get_last_failure() then
        local failed = ngx.ctx.server
        if failed then state:set(failed.down, true, DOWN_S) end
    elseif #servers > 1 and READS[ngx.req.get_method()] then
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
    if last then state:set("down:" .. last, true, DOWN_S) end
end

return M
