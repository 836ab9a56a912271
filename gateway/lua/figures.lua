-- The gateway's metrics, for Prometheus. Each worker counts on its own and adds its counts to the shared dictionary
-- once a second, so that a request takes no lock. Labels are few and known in advance: status classes, kinds of
-- refusals, the configured servers.

local settings = require "settings"

local ngx = ngx
local floor, format, match = math.floor, string.format, string.match
local concat, sort = table.concat, table.sort

local dictionary = ngx.shared.figures

local EVERY_S = 1
-- Upper bounds in seconds; one more bucket is for everything above.
local BOUNDS = { 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5 }
local PREFIX = "tickettock_gateway_"

local MEANING = {
    { "requests", "counter", "Requests of all kinds, by class of status" },
    { "refusals", "counter", "Answers of the gateway itself, by kind, and by what it knew: memory, the door, or the form" },
    { "redis_calls", "counter", "Calls to the door, by result" },
    { "redis_seconds", "histogram", "How long a call to the door took" },
    { "upstream_seconds", "histogram", "From passing a request to a server to the head of its answer, by server" },
    { "upstream_failures", "counter", "Requests that got no answer from their server, by server" },
}

-- The source that a refusal was decided from. All other refusals need only the request.
local FROM = {
    sold_out = "memory", held_out = "memory", not_open = "memory", paused = "memory", closed = "memory",
    already_asking = "door", address_spent = "door", door_unreachable = "door", door_failed = "door", no_number = "door",
    server_unreachable = "server", overloaded = "server", auth_modes_differ = "server",
}

local M = {}

-- Counts of this worker since they were last added.
local counts = {}

local function count(key, n)
    counts[key] = (counts[key] or 0) + (n or 1)
end

local function add()
    local mine = counts
    counts = {}
    for key, n in pairs(mine) do
        local _, why = dictionary:incr(key, n, 0)
        if why then ngx.log(ngx.WARN, "the figure ", key, " was lost: ", why) end
    end
end

-- Starts the timer of a worker. nginx calls it one last time when the worker exits.
function M.begin()
    local ok, why = ngx.timer.every(EVERY_S, add)
    if not ok then ngx.log(ngx.ERR, "figures are not kept: ", why) end
end

-- Label strings are cached, because they are the same for every request.
local made = {}

local function named(name, label, value, label2, value2)
    local of = made[name]
    if not of then
        of = {}
        made[name] = of
    end
    local key = of[value]
    if not key then
        local labels = format('%s="%s"', label, value)
        if label2 then labels = format('%s,%s="%s"', labels, label2, value2) end
        key = name .. "{" .. labels .. "}"
        of[value] = key
    end
    return key
end

local function bucket(seconds)
    for i = 1, #BOUNDS do
        if seconds <= BOUNDS[i] then return i end
    end
    return #BOUNDS + 1
end

-- The keys of a histogram: "name|labels|bucket" and "name|labels|sum".
local keys = {}

local function observe(name, labels, seconds)
    local id = name .. "|" .. labels
    local of = keys[id]
    if not of then
        of = { sum = id .. "|sum" }
        for i = 1, #BOUNDS + 1 do of[i] = id .. "|" .. i end
        keys[id] = of
    end
    count(of[bucket(seconds)])
    count(of.sum, seconds)
end

local known = {}
for _, server in ipairs(settings.servers) do known[server.name] = format('server="%s"', server.name) end

local CLASSES = { [1] = "1xx", [2] = "2xx", [3] = "3xx", [4] = "4xx", [5] = "5xx" }

-- A request has ended.
function M.ended()
    local var = ngx.var
    count(named("requests", "status", CLASSES[floor(ngx.status / 100)] or "other"))
    local address = var.upstream_addr
    if not address then return end
    -- With several tries, the last one counts.
    local server = known[match(address, "([^, ]+)$")] or 'server="other"'
    local took = tonumber(match(var.upstream_header_time or "", "([%d.]+)$"))
    if took then observe("upstream_seconds", server, took) else count("upstream_failures{" .. server .. "}") end
end

-- The gateway itself answered.
function M.refused(kind)
    count(named("refusals", "kind", kind, "from", FROM[kind] or "form"))
end

-- A call to the door has ended.
function M.called(seconds, fine)
    count(named("redis_calls", "result", fine and "ok" or "failed"))
    observe("redis_seconds", "", seconds)
end

local function number(value)
    if value == floor(value) then return format("%.0f", value) end
    return format("%.6f", value)
end

-- The lines of one histogram.
local function histogram(name, series, lines)
    for labels, of in pairs(series) do
        local total, with = 0, labels == "" and "" or labels .. ","
        for i = 1, #BOUNDS + 1 do
            total = total + (of[i] or 0)
            lines[#lines + 1] = format('%s_bucket{%sle="%s"} %.0f', PREFIX .. name, with, BOUNDS[i] or "+Inf", total)
        end
        local plain = labels == "" and "" or "{" .. labels .. "}"
        lines[#lines + 1] = format("%s_sum%s %s", PREFIX .. name, plain, number(of.sum or 0))
        lines[#lines + 1] = format("%s_count%s %.0f", PREFIX .. name, plain, total)
    end
end

local function gauge(lines, name, meaning, values)
    lines[#lines + 1] = format("# HELP %s%s %s.", PREFIX, name, meaning)
    lines[#lines + 1] = format("# TYPE %s%s gauge", PREFIX, name)
    for _, one in ipairs(values) do
        local labels = one[1] == "" and "" or "{" .. one[1] .. "}"
        lines[#lines + 1] = format("%s%s%s %s", PREFIX, name, labels, number(one[2]))
    end
end

-- The response to a scrape. The counts of other workers may be a second old.
function M.show(up, let_in)
    add()
    local counters, histograms = {}, {}
    for _, key in ipairs(dictionary:get_keys(0)) do
        local value = dictionary:get(key) or 0
        local name, labels, place = match(key, "^([%w_]+)|(.*)|(%w+)$")
        if name then
            local series = histograms[name] or {}
            local of = series[labels] or {}
            of[tonumber(place) or place] = value
            series[labels], histograms[name] = of, series
        else
            name, labels = match(key, "^([%w_]+)(.*)$")
            local series = counters[name] or {}
            series[#series + 1] = format("%s_total%s %.0f", PREFIX .. name, labels, value)
            counters[name] = series
        end
    end
    local lines = {}
    for _, one in ipairs(MEANING) do
        local name, kind, meaning = one[1], one[2], one[3]
        local shown = kind == "counter" and name .. "_total" or name
        lines[#lines + 1] = format("# HELP %s%s %s.", PREFIX, shown, meaning)
        lines[#lines + 1] = format("# TYPE %s%s %s", PREFIX, shown, kind)
        if kind == "counter" then
            local series = counters[name] or {}
            sort(series)
            for i = 1, #series do lines[#lines + 1] = series[i] end
        else
            histogram(name, histograms[name] or {}, lines)
        end
    end
    gauge(lines, "let_in_ratio", "Share of new connections that are let in", { { "", let_in } })
    local servers, free, open = {}, {}, {}
    for i, server in ipairs(settings.servers) do servers[i] = { known[server.name], up(server.name) and 1 or 0 } end
    gauge(lines, "server_up", "Whether a server could be reached when it was tried last", servers)
    for name, zone in pairs(ngx.shared) do free[#free + 1] = { format('dictionary="%s"', name), zone:free_space() } end
    gauge(lines, "free_bytes", "Whole free pages of a shared dictionary", free)
    for _, state in ipairs { "active", "reading", "writing", "waiting" } do
        local value = tonumber(ngx.var["connections_" .. state])
        if value then open[#open + 1] = { format('state="%s"', state), value } end
    end
    gauge(lines, "connections", "Connections of clients and to servers, by state", open)
    ngx.header["Content-Type"] = "text/plain; version=0.0.4; charset=utf-8"
    ngx.header["Cache-Control"] = "no-store"
    ngx.print(concat(lines, "\n"), "\n")
end

return M
