-- The kernel's part of admission: how many connections wait in the listener's backlog, and which share of new ones is
-- admitted. The others are sent to the wall: a second listener on the same address whose backlog is always full, so
-- that the kernel drops each attempt. A BPF program chooses between the two. None of this needs privileges, but the
-- wall must belong to the user who opened the listener. If nginx is started as root, its workers run as another user,
-- and everybody is admitted.

local ffi = require "ffi"
local settings = require "settings"

local C = ffi.C

ffi.cdef [[
struct tickettock_step { uint16_t code; uint8_t jt; uint8_t jf; uint32_t k; };
struct tickettock_program { uint16_t length; struct tickettock_step *steps; };
int socket(int family, int kind, int protocol);
int bind(int fd, const void *address, unsigned int length);
int listen(int fd, int backlog);
int accept(int fd, void *address, unsigned int *length);
int connect(int fd, const void *address, unsigned int length);
int close(int fd);
int getsockname(int fd, void *address, unsigned int *length);
int getsockopt(int fd, int level, int name, void *value, unsigned int *length);
int setsockopt(int fd, int level, int name, const void *value, unsigned int length);
]]

-- From asm-generic/socket.h, linux/in.h, linux/tcp.h and linux/in6.h.
local SOL_SOCKET, SOL_IP, SOL_TCP, SOL_IPV6 = 1, 0, 6, 41
local SO_REUSEADDR, SO_REUSEPORT, SO_ACCEPTCONN, SO_ATTACH_REUSEPORT_CBPF, SO_MEMINFO = 2, 15, 30, 51, 55
local IP_MINTTL, TCP_INFO, TCP_LISTEN, IPV6_V6ONLY, IPV6_MINHOPCOUNT = 21, 11, 10, 26, 73
local AF_INET6 = 10
-- SOCK_STREAM, SOCK_NONBLOCK and SOCK_CLOEXEC.
local STREAM = 1 + 2048 + 524288
-- Size of a sockaddr_in or a sockaddr_in6.
local ADDRESS_SIZE = #settings.listen.address == 4 and 16 or 28
-- A worker has few open files when it starts.
local FILES_MOST = 1023

-- Classic BPF, from linux/bpf_common.h. Offsets start at the packet's data; its headers are before that.
local LOAD_BYTE, LOAD_HALF, XOR, MULTIPLY, SHIFT_RIGHT = 0x30, 0x28, 0xa4, 0x24, 0x74
local JUMP, JUMP_EQUAL, JUMP_AT_LEAST, RETURN = 0x05, 0x15, 0x35, 0x06
local NETWORK_HEADER = 0xfff00000
-- The golden ratio, a multiplier that spreads neighbouring ports evenly.
local SPREAD = 0x9E3779B1
-- Loads the source port, after an IPv4 or an IPv6 header.
local SOURCE_PORT = {
    { LOAD_BYTE, 0, 0, NETWORK_HEADER }, { SHIFT_RIGHT, 0, 0, 4 }, { JUMP_EQUAL, 0, 2, 4 },
    { LOAD_HALF, 0, 0, NETWORK_HEADER + 20 }, { JUMP, 0, 0, 1 }, { LOAD_HALF, 0, 0, NETWORK_HEADER + 40 },
}
-- The index of the listener in its SO_REUSEPORT group. The wall follows it; during a reload there are two walls.
local LISTENER, WALL, WALLS_MOST = 0, 1, 3
-- A listener's backlog is full with one connection more than its setting.
local WALL_BACKLOG = 1
-- The maximum hop limit (TTL) of a packet. Nearly every system sends with 64 or 128.
local HOPS_MOST = 255

local M = { ALL = 65536 }

local address, length = ffi.new("uint8_t[128]"), ffi.new("unsigned int[1]")
local numbers, flag = ffi.new("uint32_t[32]"), ffi.new("int[1]")

local function option(fd, level, name, into)
    length[0] = 128
    return C.getsockopt(fd, level, name, into, length) == 0
end

local function set(fd, level, name, value)
    flag[0] = value
    return C.setsockopt(fd, level, name, flag, 4) == 0
end

-- Writes the socket's address into `address`.
local function name_of(fd)
    length[0] = 128
    return C.getsockname(fd, address, length) == 0
end

local function family()
    return ffi.cast("uint16_t *", address)[0]
end

local function port()
    return address[2] * 256 + address[3]
end

local function listens(fd)
    if not option(fd, SOL_SOCKET, SO_ACCEPTCONN, numbers) or numbers[0] ~= 1 then return false end
    if not name_of(fd) or port() ~= settings.listen.port then return false end
    local from, size = 4, 4
    if family() == AF_INET6 then from, size = 8, 16 end
    return ffi.string(address + from, size) == settings.listen.address
end

local function find()
    for fd = 0, FILES_MOST do
        if listens(fd) then return fd end
    end
    return nil
end

-- How many connections wait at a listener, and its limit.
local function backlog(fd)
    if not option(fd, SOL_TCP, TCP_INFO, numbers) then return nil end
    if ffi.cast("uint8_t *", numbers)[0] ~= TCP_LISTEN then return nil end
    return numbers[6], numbers[7]
end

-- How many attempts a listener has dropped so far.
local function dropped(fd)
    return option(fd, SOL_SOCKET, SO_MEMINFO, numbers) and numbers[8] or 0
end

local fd, wall
-- Our own connections that fill the wall's backlog.
local filling = {}
-- With a random salt, two gateways behind one address do not drop the same clients.
local salt

-- The kernel runs this program to choose the listener of each new connection, by its index.
local function attach(steps)
    local filter = ffi.new("struct tickettock_step[?]", #steps, steps)
    local program = ffi.new("struct tickettock_program", #steps, filter)
    return C.setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, program, ffi.sizeof(program)) == 0
end

local function after_port(steps)
    local all = {}
    for i, step in ipairs(SOURCE_PORT) do all[i] = step end
    for _, step in ipairs(steps) do all[#all + 1] = step end
    return all
end

local function let_all_in()
    return attach { { RETURN, 0, 0, LISTENER } }
end

-- Writes the listener's address into `address`, as a client on this machine reaches it.
local function from_here()
    name_of(fd)
    local bytes, any = settings.listen.address, string.rep("\0", #settings.listen.address)
    if bytes ~= any then return end
    if #bytes == 4 then address[4], address[7] = 127, 1 else address[23] = 1 end
end

-- A socket of the listener's family, bound to an address of this machine, and its port.
local function filler()
    from_here()
    address[2], address[3] = 0, 0
    local one = C.socket(family(), STREAM, 0)
    if one < 0 then return nil end
    if C.bind(one, address, ADDRESS_SIZE) ~= 0 or not name_of(one) then
        C.close(one)
        return nil
    end
    return one, port()
end

local function unfill()
    for _, one in ipairs(filling) do C.close(one) end
    filling = {}
end

-- Opens the sockets that will fill the wall, and returns their ports.
local function fillers()
    local ports = {}
    for i = 1, WALL_BACKLOG + 1 do
        filling[i], ports[i] = filler()
        if not filling[i] then return nil end
    end
    return ports
end

-- Sends only connections from these ports to the wall, if the wall has this index in the group.
local function only_from(ports, place)
    local steps = {}
    for _, one in ipairs(ports) do
        steps[#steps + 1] = { JUMP_EQUAL, 0, 1, one }
        steps[#steps + 1] = { RETURN, 0, 0, place }
    end
    steps[#steps + 1] = { RETURN, 0, 0, LISTENER }
    return after_port(steps)
end

-- The wall drops packets with a lower hop limit (TTL).
local function hear_from(hops)
    if family() == AF_INET6 and not set(wall, SOL_IPV6, IPV6_MINHOPCOUNT, hops) then return false end
    return set(wall, SOL_IP, IP_MINTTL, hops)
end

local function fill()
    -- First close the few connections that came before the program was attached, with the full hop limit.
    repeat
        local strayed = C.accept(wall, nil, nil)
        if strayed >= 0 then C.close(strayed) end
    until strayed < 0
    from_here()
    if not hear_from(0) then return false end
    for _, one in ipairs(filling) do C.connect(one, address, ADDRESS_SIZE) end
    local waiting, most = backlog(wall)
    return waiting and waiting > most
end

local function raise()
    name_of(fd)
    wall = C.socket(family(), STREAM, 0)
    if wall < 0 then return false end
    if family() == AF_INET6 and option(fd, SOL_IPV6, IPV6_V6ONLY, numbers) then
        set(wall, SOL_IPV6, IPV6_V6ONLY, numbers[0])
    end
    set(wall, SOL_SOCKET, SO_REUSEADDR, 1)
    if not set(fd, SOL_SOCKET, SO_REUSEPORT, 1) or not set(wall, SOL_SOCKET, SO_REUSEPORT, 1) then return false end
    -- The kernel accepts no program while the listener is alone. Until it has one, it also sends clients to the wall.
    -- There the attempt is dropped silently; the client's retry reaches the listener.
    if not hear_from(HOPS_MOST) or C.bind(wall, address, ADDRESS_SIZE) ~= 0 then return false end
    for place = WALL, WALLS_MOST do
        local ports = fillers()
        local program = ports and only_from(ports, place)
        -- The wall listens from the first attempt on.
        if not program or C.listen(wall, WALL_BACKLOG) ~= 0 or not attach(program) then return false end
        if fill() then return true end
        unfill()
    end
    return false
end

-- Whether new connections can be dropped here. At first everybody is admitted.
function M.begin()
    fd = find()
    if not fd then return false end
    salt = math.random(0, 65535)
    local raised = raise()
    if not raised then M.finish() end
    -- An earlier worker may have left its program attached.
    return let_all_in() and raised
end

-- Removes the wall.
function M.finish()
    unfill()
    if wall and wall >= 0 then C.close(wall) end
    wall = nil
end

-- How many connections wait, the limit, and how many attempts were dropped so far.
function M.length()
    local waiting, most = backlog(fd)
    if not waiting then return nil end
    return waiting, most, (dropped(fd) + dropped(wall)) % 2 ^ 32
end

-- Admits this share of new connections. When the client's kernel retries a dropped attempt, it is dropped again,
-- because it comes from the same port. Open connections are not affected.
function M.let_in(share)
    if share >= M.ALL then return let_all_in() end
    return attach(after_port {
        { XOR, 0, 0, salt }, { MULTIPLY, 0, 0, SPREAD }, { SHIFT_RIGHT, 0, 0, 16 },
        { JUMP_AT_LEAST, 1, 0, math.floor(share) }, { RETURN, 0, 0, LISTENER }, { RETURN, 0, 0, WALL },
    })
end

return M
