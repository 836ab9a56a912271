-- Computes the share of new connections to admit under overload, with the algorithm of
-- crates/server/src/connections/sieve.rs. The kernel drops the others and keeps dropping them, so that admitted clients
-- are served soon. The backlog shows when to act; the workers count what came and what was served.

local listener = require "listener"

local max, min, floor, huge = math.max, math.min, math.floor, math.huge
local remove = table.remove

local ALL = listener.ALL
-- Never below a sixteenth: servers that stall for a second must not shut people out for many seconds.
local LEAST = ALL / 16
-- A backlog that takes longer than this to serve is too long. An eighth of its limit is always allowed.
local MOST_WAIT_S, ALWAYS = 0.4, 8
-- A worker whose looks are this late on average is short of CPU time, and so are servers on the same machine. Refusing
-- more than this many times the served rate then costs sales, although nobody waits.
local LOOKS_LATE_S, REFUSED_MANY = 0.02, 0.5
-- The share is cut to admit this many times what can be served. The excess is refused, which costs less than a sale,
-- and no server is idle. Admitting too few is worse: each step back admits attempts that were dropped before.
local AIM = 1.4
-- Before this time has passed the capacity is uncertain, because the first clients are still being served.
local UNSURE_S, UNSURE_AIM = 0.5, 2
-- If that is still too much, the share is cut down to this.
local LEAST_AIM = 1
-- Refusals do not shorten a backlog that has been this many times too long, for this time since the share last changed.
-- Then the share is multiplied by DRAINS until the backlog is down to DRAINED of what is too long. The steps are
-- small, because the way back admits attempts that were dropped before.
local STAYS, STAYS_S, DRAINS, DRAINED = 1.5, 0.5, 0.75, 0.75
-- The served rate is measured for this long before it is used, and before it is remembered.
local KNOWN_AFTER_S, SURE_AFTER_S = 0.06, 0.25
-- The current arrival rate is measured over this many clients, and over a time between these two.
local COMING_COUNT, COMING_LEAST_S, COMING_NOW_S = 1000, 0.04, 0.2
-- Each of the newest looks, at least this many and spanning this time, must show more arrivals than can be served:
-- otherwise it was a burst that is over. A busy worker looks late.
local COMING_STILL_S, COMING_STILL_LOOKS = 0.03, 4
local COMING_LATELY_S, SERVED_LATELY_S = 0.4, 1
-- Half-life of the highest served rate that was measured.
local FORGOTTEN_AFTER_S = 5
-- After this long without a backlog or a refusal everybody is admitted, if arrivals and drops are below this many times
-- the capacity. Otherwise the share grows until slightly more than the capacity is admitted. Retries of an attempt are
-- counted each time, but are admitted once.
local CALM_S, KNOCKING, FILLED = 0.4, 1.4, 1.05
-- After this long the share grows slightly in any case.
local LONG_CALM_S, SLIGHTLY_MORE = 1, 1.03

local M = {}

-- Counts of the latest looks.
local Lately = {}
Lately.__index = Lately

local function over(most)
    return setmetatable({ most = most, times = {}, counts = {}, time = 0 }, Lately)
end

function Lately:push(elapsed, count)
    local times, counts = self.times, self.counts
    times[#times + 1], counts[#counts + 1] = elapsed, count
    self.time = self.time + elapsed
    while self.time - times[1] >= self.most do
        self.time = self.time - remove(times, 1)
        remove(counts, 1)
    end
end

function Lately:clear()
    self.times, self.counts, self.time = {}, {}, 0
end

-- The rate per second, if each of the newest looks exceeded `least`, and all of them together did too.
function Lately:rate_now(least)
    local time, count, looks = 0, 0, 0
    for i = #self.times, 1, -1 do
        local still = time < COMING_STILL_S or looks < COMING_STILL_LOOKS
        if not still and (time >= COMING_NOW_S or time >= COMING_LEAST_S and count >= COMING_COUNT) then break end
        if still and self.counts[i] < least * self.times[i] then return nil end
        time, count, looks = time + self.times[i], count + self.counts[i], looks + 1
    end
    if time < COMING_LEAST_S or looks < COMING_STILL_LOOKS then return nil end
    return count > least * time and count / time or nil
end

-- The rate per second in the newest looks; nil while too little is known.
function Lately:rate_over(most)
    local time, count = 0, 0
    for i = #self.times, 1, -1 do
        if time >= most then break end
        time, count = time + self.times[i], count + self.counts[i]
    end
    return time >= KNOWN_AFTER_S and count / time or nil
end

function M.new()
    return {
        share = ALL,
        waiting = 0,
        -- Since the share was last changed.
        came = over(COMING_LATELY_S),
        -- Arrivals and drops.
        knocked = over(COMING_LATELY_S),
        refused = over(COMING_LATELY_S),
        served = over(SERVED_LATELY_S),
        -- Served while others waited or were refused.
        served_of_many = over(SERVED_LATELY_S),
        served_most = 0,
        calm = 0,
        -- How long the load has exceeded the capacity.
        busy = 0,
        -- How long the backlog has been much too long without a change of the share.
        stays = 0,
        drains = false,
    }
end

local function too_many(can_serve, limit)
    return min(max(can_serve * MOST_WAIT_S, limit / ALWAYS), limit / 2)
end

local function refuses_too_many(sieve)
    local refused = sieve.refused
    if refused.time < COMING_LATELY_S / 2 or refused.time < LOOKS_LATE_S * #refused.times then return false end
    return refused:rate_over(COMING_LATELY_S) > REFUSED_MANY * (sieve.served:rate_over(COMING_LATELY_S) or huge)
end

-- The factor by which to change the share, or nil.
local function change(sieve, look)
    local can_serve = sieve.can_serve
    if not can_serve then return nil end
    if sieve.calm >= CALM_S then
        local lately, knocking = sieve.came:rate_over(CALM_S), sieve.knocked:rate_over(CALM_S)
        if lately and knocking and lately < FILLED * can_serve then
            if knocking < KNOCKING * can_serve then return huge end
            -- Of the dropped clients that retry, a part is admitted that is proportional to the growth of the share.
            local more = (FILLED * can_serve - lately) / max(knocking - lately, 1)
            return max(1 + (ALL - sieve.share) / sieve.share * more, sieve.calm >= LONG_CALM_S and SLIGHTLY_MORE or 1)
        end
        if sieve.calm >= LONG_CALM_S then return SLIGHTLY_MORE end
    end
    local most = too_many(can_serve, look.limit)
    if sieve.drains and look.waiting <= DRAINED * most then return 1 / DRAINS end
    if look.waiting <= most and not refuses_too_many(sieve) then return nil end
    local unsure = sieve.busy < UNSURE_S
    local aim = unsure and UNSURE_AIM or AIM
    local now = sieve.came:rate_now((unsure and aim or LEAST_AIM) * can_serve)
    if now then return (now > aim * can_serve and aim or LEAST_AIM) * can_serve / now end
    return sieve.stays >= STAYS_S and not sieve.drains and DRAINS or nil
end

-- `look`: elapsed (seconds), began, served, refused, dropped (since the last look), waiting, limit. Returns the new
-- share when it changes.
function M.look(sieve, look)
    local elapsed, waiting = look.elapsed, look.waiting
    local came = max(look.began + waiting - sieve.waiting, 0)
    local knocked = came + look.dropped
    -- Without a filter the backlog was full, and the dropped attempts also count as arrivals.
    sieve.came:push(elapsed, sieve.share == ALL and knocked or came)
    sieve.knocked:push(elapsed, knocked)
    sieve.served:push(elapsed, look.served)
    sieve.refused:push(elapsed, look.refused)
    -- The load exceeds the capacity.
    if sieve.waiting > 0 and waiting > 0 or look.refused > 0 then
        local many = sieve.served_of_many
        many:push(elapsed, look.served)
        local most = sieve.served_most * 0.5 ^ (elapsed / FORGOTTEN_AFTER_S)
        for _, served in ipairs { sieve.served, many } do
            if served.time >= SURE_AFTER_S then most = max(most, served:rate_over(SERVED_LATELY_S)) end
        end
        sieve.served_most = most
        local now = many:rate_over(SERVED_LATELY_S)
        sieve.can_serve = now and max(now, most)
    end
    sieve.waiting = waiting
    sieve.calm = (waiting > look.limit / 64 or look.refused > 0) and 0 or sieve.calm + elapsed
    sieve.busy = sieve.calm >= CALM_S and 0 or sieve.busy + elapsed
    local stays = sieve.can_serve and waiting > STAYS * too_many(sieve.can_serve, look.limit)
    sieve.stays = stays and sieve.stays + elapsed or 0
    local times = change(sieve, look)
    if not times then return nil end
    local share = max(LEAST, min(ALL, floor(sieve.share * times)))
    if share == sieve.share then return nil end
    sieve.came:clear()
    sieve.drains = times == DRAINS
    sieve.calm, sieve.stays, sieve.share = 0, 0, share
    return share
end

return M
