-- The clock, in milliseconds. Tests replace this file to move time.

local ngx_now = ngx.now

local M = {}

-- Scripts add this to the time of Redis.
function M.offset_ms()
    return 0
end

function M.now_ms()
    return ngx_now() * 1000
end

return M
