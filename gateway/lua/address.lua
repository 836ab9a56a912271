-- The address that a request's budget belongs to, in the same form as in keys.rs. IPv4 addresses count
-- whole, IPv6 addresses by /64, because one household has a whole /64.

local byte, format = string.byte, string.format

local MAPPED = ("\0"):rep(10) .. "\255\255"

local M = {}

-- `binary` is `$binary_remote_addr`: 4 or 16 bytes, or something else for a Unix socket.
function M.key(binary)
    if #binary == 4 then
        local a, b, c, d = byte(binary, 1, 4)
        return a .. "." .. b .. "." .. c .. "." .. d
    end
    if #binary ~= 16 then return "local" end
    if binary:sub(1, 12) == MAPPED then return M.key(binary:sub(13)) end
    local a, b, c, d, e, f, g, h = byte(binary, 1, 8)
    return format("%x:%x:%x:%x", a * 256 + b, c * 256 + d, e * 256 + f, g * 256 + h)
end

return M
