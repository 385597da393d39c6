-- Put before scripts that change retry queues (Lua.swift). A retry queue is a header of 3 bytes and the ids of pushes, 16 bytes
-- each. The header is a number of 2 bytes and a count of the channel's registrations. A changed count tells the sender that the
-- channel has another token than the one it read. docs/keyspace.md explains the number, which WaitingChannel reads, too.
local function header(attempts, registrations, quiet)
    local number = attempts
    if quiet == 1 then number = 16384 + attempts end
    if quiet > 1 then number = 32768 + 512 * (math.min(quiet, 64) - 2) + math.min(attempts, 510) end
    return string.char(math.floor(number / 256), number % 256, registrations)
end

local function ended_header(registrations, quiet)
    local number = quiet > 1 and 32768 + 512 * (math.min(quiet, 64) - 2) + 511 or 65535
    return string.char(math.floor(number / 256), number % 256, registrations)
end

-- Returns attempts, or false if the first push is an `end` that was delivered; and how many pushes go out without their alerts.
local function read_header(line)
    local number = string.byte(line) * 256 + string.byte(line, 2)
    if number < 32768 then return number % 16384, number < 16384 and 0 or 1 end
    local attempts, quiet = number % 512, math.floor((number - 32768) / 512) + 2
    return attempts < 511 and attempts, quiet < 65 and quiet or 0
end

-- Returns the queue without the push whose id begins at byte `at`.
local function without(line, at)
    local attempts, quiet = read_header(line)
    if (at - 4) / 16 < quiet then quiet = quiet - 1 end
    if at == 4 then attempts = 0 end
    local registrations = string.byte(line, 3)
    return (attempts and header(attempts, registrations, quiet) or ended_header(registrations, quiet))
        .. string.sub(line, 4, at - 1) .. string.sub(line, at + 16)
end

-- Returns the queue with all its pushes without their alerts, because they were swept before the channel's card began.
local function quieted(line)
    local attempts = read_header(line)
    local registrations, quiet = string.byte(line, 3), (#line - 3) / 16
    return (attempts and header(attempts, registrations, quiet) or ended_header(registrations, quiet))
        .. string.sub(line, 4)
end

