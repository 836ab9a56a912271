-- Which share of new connections is let in while more come than can be served, by the law of
-- crates/server/src/connections/sieve.rs: the others are dropped by the kernel and stay dropped, so that whoever is let
-- in is served soon. The backlog says when, the workers count what came and what was served.

local listener = require "listener"

local max, min, floor, huge = math.max, math.min, math.floor, math.huge
local remove = table.remove

local ALL = listener.ALL
-- Never fewer than a sixteenth: servers that stand still for a second must not shut people out for many.
local LEAST = ALL / 16
-- A backlog that takes longer than this to serve is too long; an eighth of it may always be taken.
local MOST_WAIT_S, ALWAYS = 0.4, 8
-- A worker that looks this late on average is short of processor time, and so are the servers if they are on the same
-- machine. Then refusing so many times as many as are served costs sales, although nobody waits.
local LOOKS_LATE_S, REFUSED_MANY = 0.02, 0.5
-- Fewer are let in, down to so many times as many as can be served: what is too much is refused, which costs less than
-- a sale, and no server waits for work. To let in too few is worse: each step back lets attempts in that were dropped
-- before.
local AIM = 1.4
-- Before so much time has passed, what can be served is not known well: those who came first are still being served.
local UNSURE_S, UNSURE_AIM = 0.5, 2
-- If that is still too much, down to this.
local LEAST_AIM = 1
-- A backlog that has taken so many times as long as is too long, for this time since the share last changed, is not
-- shortened by what is refused: so much of the share is let in until so much of what is too long is left. Small steps:
-- the way back lets attempts in that were dropped before.
local STAYS, STAYS_S, DRAINS, DRAINED = 1.5, 0.5, 0.75, 0.75
-- What is served is measured for this long before anything follows from it, and before it is remembered.
local KNOWN_AFTER_S, SURE_AFTER_S = 0.06, 0.25
-- How many come now is measured by so many people, and for a time between these two.
local COMING_COUNT, COMING_LEAST_S, COMING_NOW_S = 1000, 0.04, 0.2
-- In each of the newest looks, so many and of this time together at least, more must have come than can be served: a
-- crowd that came all at once is over. A busy worker looks late.
local COMING_STILL_S, COMING_STILL_LOOKS = 0.03, 4
local COMING_LATELY_S, SERVED_LATELY_S = 0.4, 1
-- What could be served is halved in this time.
local FORGOTTEN_AFTER_S = 5
-- After this long without a backlog and without a refusal everybody is let in, if what comes and what is dropped is
-- less than so many times what can be served; else more are, until slightly more come in than can be served. Repeated
-- attempts are counted each time, and come in once.
local CALM_S, KNOCKING, FILLED = 0.4, 1.4, 1.05
-- After this long slightly more are, in any case.
local LONG_CALM_S, SLIGHTLY_MORE = 1, 1.03

local M = {}

-- Counts of the last looks.
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

-- Per second, if each of the newest looks had more than `least`, and all of them together too.
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

-- Per second, in the newest looks; nil while too little is known.
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
        -- Those who came or were dropped.
        knocked = over(COMING_LATELY_S),
        refused = over(COMING_LATELY_S),
        served = over(SERVED_LATELY_S),
        -- While others waited or were refused.
        served_of_many = over(SERVED_LATELY_S),
        served_most = 0,
        calm = 0,
        -- Since there was more to do than could be done.
        busy = 0,
        -- For so long the backlog has been much too long and the share has not changed.
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

-- By how much the share changes, or nil.
local function change(sieve, look)
    local can_serve = sieve.can_serve
    if not can_serve then return nil end
    if sieve.calm >= CALM_S then
        local lately, knocking = sieve.came:rate_over(CALM_S), sieve.knocked:rate_over(CALM_S)
        if lately and knocking and lately < FILLED * can_serve then
            if knocking < KNOCKING * can_serve then return huge end
            -- Of those who are dropped and try again, as many come in as the share grows by.
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
    -- Without a filter the backlog was full, and those who were dropped came as well.
    sieve.came:push(elapsed, sieve.share == ALL and knocked or came)
    sieve.knocked:push(elapsed, knocked)
    sieve.served:push(elapsed, look.served)
    sieve.refused:push(elapsed, look.refused)
    -- While there was more to do than could be done.
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
