-- Fragment for scripts that read or write retry queues. A channel's queue is a header of 3 bytes and the ids of its
-- pushes, 16 bytes each, oldest first. The header is a number (2 bytes) and a mark (1 byte).
-- The lower 6 bits of the mark count the channel's registrations, which tells the sender that the channel has another
-- token than the one it read. The higher 2 bits are the code of the channel's platform, 0 also if it was not known.
-- The number says how often the first push was attempted (false: it is an `end` that was delivered and whose removal is
-- pending), and how many pushes, from the first on, go without their alerts (silent). See also docs/keyspace.md.
-- uses constants, id
local QUEUE_HEADER, ID_BYTES = 3, 16

-- registrations: the mark of another header of the channel, or 0. platform: for a new queue
local function header(attempts, registrations, silent, platform)
    local number = attempts
    if silent > 1 then
        number = QUEUE_MORE_LATE + QUEUE_LATE_UNIT * (math.min(silent, QUEUE_MOST) - 2)
            + math.min(attempts or math.huge, QUEUE_LATE_UNIT - (attempts and 2 or 1))
    elseif not attempts then
        number = QUEUE_MORE_LATE + QUEUE_LATE_UNIT * QUEUE_MOST - 1
    elseif silent == 1 then
        number = QUEUE_ONE_LATE + attempts
    end
    return string.char(math.floor(number / 256), number % 256, registrations + (platform or 0) * 64)
end

-- Returns attempts or false, and silent.
local function read_header(queue)
    local number = string.byte(queue) * 256 + string.byte(queue, 2)
    if number < QUEUE_MORE_LATE then return number % QUEUE_ONE_LATE, number < QUEUE_ONE_LATE and 0 or 1 end
    local attempts = number % QUEUE_LATE_UNIT
    local silent = math.floor((number - QUEUE_MORE_LATE) / QUEUE_LATE_UNIT) + 2
    return attempts < QUEUE_LATE_UNIT - 1 and attempts, silent <= QUEUE_MOST and silent or 0
end
-- The mark. It changes with each registration of the channel, and with nothing else.
local function registrations_of(queue) return string.byte(queue, 3) end
local function platform_of(queue) return math.floor(string.byte(queue, 3) / 64) end
local function with_header(queue, attempts, registrations)
    local _, silent = read_header(queue)
    return header(attempts, registrations, silent) .. string.sub(queue, QUEUE_HEADER + 1)
end
-- The queue after one more registration of its channel.
local function registered_again(queue)
    local mark = registrations_of(queue)
    return with_header(queue, (read_header(queue)), mark - mark % 64 + (mark + 1) % 64)
end

-- Whether the channel has a push in its queue.
local function has_pushes(queue) return queue and #queue >= QUEUE_HEADER + ID_BYTES end
local function is_full(queue) return #queue >= QUEUE_HEADER + ID_BYTES * QUEUE_MOST end
local function end_delivered(queue) return has_pushes(queue) and not read_header(queue) end
local function pushes_in(queue) return math.floor((#queue - QUEUE_HEADER) / ID_BYTES) end

local function last_of(queue) return string.sub(queue, -ID_BYTES) end
-- The push at a position from 1 on.
local function push_at(queue, position)
    local from = QUEUE_HEADER + 1 + (position - 1) * ID_BYTES
    return string.sub(queue, from, from + ID_BYTES - 1)
end
local function without(queue, position)
    local attempts, silent = read_header(queue)
    if position <= silent then silent = silent - 1 end
    if position == 1 then attempts = 0 end
    local from = QUEUE_HEADER + 1 + (position - 1) * ID_BYTES
    return header(attempts, registrations_of(queue), silent) .. string.sub(queue, QUEUE_HEADER + 1, from - 1)
        .. string.sub(queue, from + ID_BYTES)
end
-- The queue with all its pushes without their alerts, because they were swept before the channel's card began.
local function without_alerts(queue)
    local attempts = read_header(queue)
    return header(attempts, registrations_of(queue), pushes_in(queue)) .. string.sub(queue, QUEUE_HEADER + 1)
end

-- Removes the first push. The next one is due at once. h, r: the name's retry queues and their due times
local function pop(h, r, channel, queue, now)
    if pushes_in(queue) > 1 then
        redis.call('HSET', h, channel, without(queue, 1))
        redis.call('ZADD', r, now, channel)
    else
        redis.call('HDEL', h, channel)
        redis.call('ZREM', r, channel)
    end
end
-- The due time of the name's first waiting channel, or ''.
local function first_due(r) return redis.call('ZRANGE', r, 0, 0, 'WITHSCORES')[2] or '' end
