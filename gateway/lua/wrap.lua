-- For debugging, with GATEWAY_WRAP=1: `?wrap=1` wraps status, number and body into one JSON body, with status 200.

local cjson = require "cjson.safe"

local format = string.format

local M = {}

local function number_in(body)
    local said = cjson.decode(body)
    if type(said) ~= "table" then return nil end
    local meta = type(said.error) == "table" and said.error.meta
    local number = said.sequence or type(meta) == "table" and meta.sequence
    return type(number) == "number" and format("%.0f", number) or nil
end

function M.headers()
    if ngx.var.arg_wrap ~= "1" or ngx.req.get_method() == "HEAD" then return end
    local kind = ngx.header["Content-Type"]
    if type(kind) ~= "string" or not kind:find("^application/json") then return end
    ngx.ctx.wrapped = { status = ngx.status, parts = {} }
    ngx.status = 200
    ngx.header["Content-Length"] = nil
    ngx.header["Retry-After"] = nil
end

function M.body()
    local wrapped = ngx.ctx.wrapped
    if not wrapped then return end
    wrapped.parts[#wrapped.parts + 1] = ngx.arg[1]
    ngx.arg[1] = nil
    if not ngx.arg[2] then return end
    local body = table.concat(wrapped.parts)
    local number = ngx.var.gw_number
    if not number or number == "" then number = number_in(body) or "null" end
    ngx.arg[1] = format('{"gatewayWrapped":true,"status":%d,"sequence":%s,"body":%s}', wrapped.status, number,
        body == "" and "null" or body)
end

return M
