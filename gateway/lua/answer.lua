-- Answers of the gateway's own. Their words and statuses are the server's: it writes `answers.lua`
-- from the table that it answers with itself, with gaps where a fact belongs.

local answers = require "answers"
local cjson = require "cjson"

local concat = table.concat
local find, format, gsub = string.find, string.format, string.gsub
local type = type

local M = {}

-- The caller's own id if it can stand in a header and a log line, else one of ours.
function M.trace(given)
    if type(given) == "table" then given = given[1] end
    if given and #given <= 128 and given ~= "" and not find(given, "[^!-~]") then return given end
    return ngx.var.request_id
end

local function fill(parts, trace, facts)
    if #parts == 3 and parts[2] == "trace" then return parts[1] .. trace .. parts[3] end
    local body = {}
    for i = 1, #parts, 2 do
        body[i] = parts[i]
        local gap = parts[i + 1]
        if gap == "trace" then body[i + 1] = trace elseif gap then body[i + 1] = facts[gap] end
    end
    return concat(body)
end

-- Says it and ends the request. `facts`: retry, line, column, opens, caller, where the answer has them.
function M.send(kind, dialect, trace, facts)
    local answer = answers[kind][dialect]
    local body = fill(answer.parts, trace, facts)
    local headers = ngx.header
    ngx.status = answer.status
    headers["Content-Type"] = "application/json; charset=utf-8"
    headers["X-Content-Type-Options"] = "nosniff"
    headers["X-Request-Id"] = trace
    headers["Content-Length"] = #body
    if answer.again then headers["Retry-After"] = answer.again == "retry" and facts.retry or answer.again end
    if answer.challenge then headers["WWW-Authenticate"] = answer.challenge end
    ngx.print(body)
    return ngx.exit(ngx.HTTP_OK)
end

-- A text as it stands in JSON.
function M.quoted(words)
    return (gsub(cjson.encode(words), "\\/", "/"))
end

-- RFC 3339 in UTC, as the server writes a moment.
function M.moment(ms)
    local fraction = ms % 1000
    local seconds = (ms - fraction) / 1000
    local tail = fraction == 0 and "" or gsub(format(".%03d", fraction), "0+$", "")
    return os.date("!%Y-%m-%dT%H:%M:%S", seconds) .. tail .. "Z"
end

return M
