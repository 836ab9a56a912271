-- Responses that the gateway itself sends. Texts and statuses come from the server: it generates `answers.lua` from its
-- own responses, with a placeholder for every fact.

local answers = require "answers"
local cjson = require "cjson"
local figures = require "figures"
local language = require "language"

local settings = require "settings"

local find, format, gsub, sub = string.find, string.format, string.gsub, string.sub

local M = {}

-- The trace id, escaped for a JSON string. Only an id that a client sent can need escaping.
local function escaped(trace)
    if not find(trace, '"', 1, true) and not find(trace, "\\", 1, true) then return trace end
    return sub(M.quoted(trace), 2, -2)
end

-- Prints the parts one by one. Concatenating them first would make Lua intern one more string, and many differ in the
-- trace id only.
local function say(parts, trace, facts)
    if #parts == 3 and parts[2] == "trace" then
        ngx.header["Content-Length"] = #parts[1] + #trace + #parts[3]
        return ngx.print(parts[1], trace, parts[3])
    end
    local body = {}
    for i = 1, #parts, 2 do
        body[i] = parts[i]
        local gap = parts[i + 1]
        if gap == "trace" then body[i + 1] = trace elseif gap then body[i + 1] = facts[gap] end
    end
    local length = 0
    for i = 1, #body do
        body[i] = tostring(body[i])
        length = length + #body[i]
    end
    ngx.header["Content-Length"] = length
    return ngx.print(body)
end

-- CORS_ORIGINS: the origins whose pages may read the response, with the same headers as the servers send.
local function cross_origin(vary)
    if not settings.origins then return vary end
    local origin = ngx.req.get_headers()["origin"]
    if type(origin) == "string" and settings.origins[origin] then
        ngx.header["Access-Control-Allow-Origin"] = origin
        ngx.header["Access-Control-Allow-Credentials"] = "true"
        ngx.header["Access-Control-Expose-Headers"] = settings.exposed
    end
    return vary and vary .. ", Origin" or "Origin"
end

-- Sends a refusal. nginx adds the headers that every response has. `facts` has what the response needs of: retry, line,
-- column, opens, opens_in_seeds, caller.
function M.send(kind, dialect, trace, facts)
    figures.refused(kind)
    local answer = answers[kind][dialect]
    if answer.language then
        answer = answer[language.asked()] or answer
        ngx.header["Content-Language"] = answer.language
    end
    ngx.status = answer.status
    ngx.header["X-Request-Id"] = trace
    ngx.header["Cache-Control"] = "no-store"
    local again = answer.again
    if again then ngx.header["Retry-After"] = again == "retry" and facts.retry or again end
    local vary = cross_origin(answer.vary)
    if vary then ngx.header["Vary"] = vary end
    if answer.challenge then ngx.header["WWW-Authenticate"] = answer.challenge end
    say(answer.parts, escaped(trace), facts)
end

-- A text, escaped for JSON.
function M.quoted(words)
    return (gsub(cjson.encode(words), "\\/", "/"))
end

-- RFC 3339 in UTC with milliseconds, as the server formats a time.
function M.moment(ms)
    local fraction = ms % 1000
    return os.date("!%Y-%m-%dT%H:%M:%S", (ms - fraction) / 1000) .. format(".%03dZ", fraction)
end

-- The same in the format of the seeds' dialects: without trailing zeros.
function M.seed_moment(ms)
    local fraction = ms % 1000
    local seconds = (ms - fraction) / 1000
    local tail = fraction == 0 and "" or gsub(format(".%03d", fraction), "0+$", "")
    return os.date("!%Y-%m-%dT%H:%M:%S", seconds) .. tail .. "Z"
end

return M
