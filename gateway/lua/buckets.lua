-- Token buckets per user and per address. A bucket allows `rate` requests a second, with a burst of two
-- seconds' worth. It is stored as one number: the time at which it will be full again.

local clock = require "clock"
local settings = require "settings"

local ceil, max = math.ceil, math.max

local dictionary = ngx.shared.rates

local BURST_MS = 2000

local M = {}

-- Takes a token. Returns nil, or the seconds to wait if the bucket is empty.
local function take(key, rate)
    if rate == 0 then return nil end
    local now = clock.now_ms()
    local full = max(dictionary:get(key) or 0, now) + 1000 / rate
    if full - now > max(BURST_MS, 1000 / rate) then
        return max(1, ceil((full - now - BURST_MS) / 1000))
    end
    dictionary:set(key, full, (full - now) / 1000 + 1)
    return nil
end

function M.address(address)
    return take("a " .. address, settings.address_rate)
end

function M.user(user)
    return take("u " .. user, settings.user_rate)
end

return M
