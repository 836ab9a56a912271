-- Answers `sold_out` and similar refusals from a cache: what the last batch left, at most 250 ms old,
-- shared by all workers. One request reads Redis while the others use the cached value. A cached value
-- expires no later than the value in Redis, so now and then one request has to go through to the servers
-- to refresh it; one at a time.

local answer = require "answer"
local clock = require "clock"
local door = require "door"

local format, match = string.format, string.match
local ceil, max, min = math.ceil, math.max, math.min

local dictionary = ngx.shared.left

local FRESH_MS = 250
-- After this time one request reads Redis again, while the others use the cached value.
local AGAIN_MS = 120
-- When less than this is left, one request goes through so that its batch refreshes the value.
local PROBE_BELOW_MS = 500
-- After stock was freed the hint answers nothing for this long.
local MUTED_S = 1
-- A request that finds the hint just expired waits this long for the request that went through.
local WAIT_STEP_S, WAIT_STEPS = 0.005, 10

-- When Redis has no value, it is not read more often than this.
local NOTHING_MS = 20

local OUT = { sold_out = true, held_out = true, not_open = true, paused = true, closed = true }

local M = {}

-- Stock was freed or a sale began: pass requests on.
function M.mute(event)
    dictionary:set(M.muted(event), true, MUTED_S)
end

-- A server refused although the cached value says that stock is left: read it again now.
function M.doubt(event)
    local line = dictionary:get(event)
    if line and not OUT[match(line, "^%S+")] then dictionary:delete(event) end
end

-- The refusal that follows from what is left, or `open`.
local function verdict(left)
    if left.state == "closed" then return "closed" end
    if left.state == "paused" then return "paused" end
    -- `not_open` is valid until first_end. With holds, first_end would be a hold's end, not the opening.
    if left.state == "scheduled" then return left.held == 0 and "not_open" or "open" end
    if left.free > 0 then return "open" end
    return left.held > 0 and "held_out" or "sold_out"
end

-- Caches one line per event: verdict, read at, valid until, expiry of the value in Redis (all in the
-- gateway's ms), first end in the gateway's ms, first end in Redis' ms.
local function keep(event, left, now)
    local word, lapses, first_end, shown = nil, now, 0, 0
    local valid
    if left.state then
        word = verdict(left)
        lapses = now + left.says_ms
        if left.first_end then first_end, shown = now + (left.first_end - left.now), left.first_end end
        valid = min(now + FRESH_MS, lapses)
    else
        -- Keep the last verdict, so that requests can wait for a new one.
        local before = dictionary:get(event)
        word = before and match(before, "^%S+") or "open"
        valid = OUT[word] and now or now + NOTHING_MS
    end
    local line = format("%s %.0f %.0f %.0f %.0f %.0f", word, now, valid, lapses, first_end, shown)
    dictionary:set(event, line)
    return line
end

-- The newest line, parsed, per worker.
local parsed_line, parsed = {}, {}
local count = 0

local function parse(event, line)
    if parsed_line[event] == line then return parsed[event] end
    local word, read, valid, lapses, first_end, shown = match(line, "^(%S+) (%S+) (%S+) (%S+) (%S+) (%S+)$")
    local known = { word = word, read = tonumber(read), valid = tonumber(valid), lapses = tonumber(lapses),
        first_end = tonumber(first_end), shown = tonumber(shown) }
    if count > 10000 then parsed_line, parsed, count = {}, {}, 0 end
    parsed_line[event], parsed[event], count = line, known, count + 1
    return known
end

-- Reads what is left. Second result: another request is reading it now.
local function look(event, now)
    if not dictionary:add("looking:" .. event, true, 0.05) then return nil, true end
    local left = door.left(event)
    local line = left and keep(event, left, now)
    dictionary:delete("looking:" .. event)
    return line and parse(event, line)
end

-- Whether this request goes through: at most one every 100 ms does.
local function probes(event)
    return dictionary:add("probing:" .. event, true, 0.1)
end

local NONE = {}

local function facts(known, now)
    if known.word == "held_out" or known.word == "not_open" then
        local wait = format("%d", max(1, ceil((known.first_end - now) / 1000)))
        local opens = known.shown
        return { retry = wait, opens = answer.moment(opens), opens_in_seeds = answer.seed_moment(opens) }
    end
    return NONE
end

-- Whether this worker knows without reading Redis that the event is sold out or closed.
function M.refuses(event)
    local known = parsed[event]
    return known and OUT[known.word] and clock.now_ms() < known.valid
end

-- The key that mutes the hint of an event.
function M.muted(event)
    return "muted:" .. event
end

-- Returns a refusal and its facts, or nil to pass the request on. `only_shut`: ignore the stock, because the request
-- names its seat.
function M.on(event, muted, only_shut)
    if dictionary:get(muted) then return nil end
    local now = clock.now_ms()
    -- The line that this worker parsed last is current until it must be read again.
    local known, line = parsed[event], nil
    if not known or not OUT[known.word] or now - known.read >= AGAIN_MS or now >= known.valid then
        line = dictionary:get(event)
        known = line and parse(event, line)
    end
    if not known or now >= known.valid then
        local found, other = look(event, now)
        known = found or known
        if not known and other then
            -- Wait briefly for the result of that request: otherwise a whole crowd passes meanwhile.
            ngx.sleep(WAIT_STEP_S)
            now, line = clock.now_ms(), dictionary:get(event)
            known = line and parse(event, line)
        end
        if not known then return nil end
        if now >= known.valid then
            -- It expired. If it was a refusal, one request goes through to refresh it, and the others wait.
            if not OUT[known.word] or probes(event) then return nil end
            for _ = 1, WAIT_STEPS do
                ngx.sleep(WAIT_STEP_S)
                now = clock.now_ms()
                known = look(event, now) or parse(event, dictionary:get(event) or line)
                if now < known.valid then break end
            end
            if now >= known.valid or dictionary:get(muted) then return nil end
        end
    elseif now - known.read >= AGAIN_MS then
        known = look(event, now) or known
    end
    local word = known.word
    if not OUT[word] or only_shut and (word == "sold_out" or word == "held_out") then return nil end
    if known.lapses - now < PROBE_BELOW_MS and probes(event) then return nil end
    return word, facts(known, now)
end

return M
