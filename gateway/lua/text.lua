-- Checks that a string is certainly valid. If that is not certain, the request is passed on, and the server
-- reports what is wrong.

local byte, find, sub = string.byte, string.find, string.sub

local M = {}

-- The number of characters, if the string is certainly well-formed and printable UTF-8; else nil.
local function characters(text)
    local count, i, length = 0, 1, #text
    while i <= length do
        local b = byte(text, i)
        local more, point
        if b < 0x80 then more, point = 0, b
        elseif b >= 0xC2 and b < 0xE0 then more, point = 1, b - 0xC0
        elseif b >= 0xE0 and b < 0xF0 then more, point = 2, b - 0xE0
        elseif b >= 0xF0 and b < 0xF5 then more, point = 3, b - 0xF0
        else return nil end
        for j = i + 1, i + more do
            local c = byte(text, j)
            if not c or c < 0x80 or c > 0xBF then return nil end
            point = point * 64 + (c - 0x80)
        end
        if more == 2 and point < 0x800 or more == 3 and (point < 0x10000 or point > 0x10FFFF) then return nil end
        if point >= 0xD800 and point <= 0xDFFF then return nil end
        -- Control characters; and spaces, separators and bidirectional marks, which are not certain.
        if point < 0x20 or point >= 0x7F and point <= 0xA0 or point == 0x1680
            or point >= 0x2000 and point <= 0x206F or point == 0x3000 or point == 0xFEFF then
            return nil
        end
        count = count + 1
        i = i + more + 1
    end
    return count
end

-- Whether it is 1 to `most` printable characters, without a space at either end.
function M.surely_printable(text, most)
    if text == "" or byte(text) == 32 or byte(text, -1) == 32 then return false end
    if not find(text, "[^ -~]") then return #text <= most end
    local count = characters(text)
    return count ~= nil and count <= most
end

-- The check of `User::new` in ids.rs.
function M.surely_user(text)
    return M.surely_printable(text, 128)
end

-- The check of the server for an idempotency key, which may be in double quotes.
function M.surely_key(text)
    if #text >= 2 and byte(text) == 34 and byte(text, -1) == 34 then text = sub(text, 2, -2) end
    return M.surely_printable(text, 128)
end

return M
