-- Fragment for scripts that know of open requests (ADR 35). z holds them, channel -> id of the request 8, registrations
-- 1, push 16, until when (ms) and for how long (ms) it may be open. While a request is open, its channel is not due (r),
-- so nothing else is sent to the channel. Only the id's owner ends it, or the next retries once its time is over.
local OPEN_ID, OPEN_TIMES = 8, 8 + 1 + 16

-- Leaves a request open. registrations: of the channel's queue when the request's token was read. length: ms from now
local function leave_open(z, r, channel, id, registrations, push, now, length, retention)
    local text = string.format('%.0f', now + length)
    redis.call('HSET', z, channel, id .. string.char(registrations) .. push .. text .. ' ' .. length)
    redis.call('ZADD', r, text, channel)
    redis.call('PEXPIRE', z, retention)
    redis.call('PEXPIRE', r, retention)
end

-- Removes the open request of a channel, if it has this id. Returns its registrations and push, or nil.
local function take_open(z, channel, id)
    local open = redis.call('HGET', z, channel)
    if not open or string.sub(open, 1, OPEN_ID) ~= id then return nil end
    redis.call('HDEL', z, channel)
    return string.byte(open, OPEN_ID + 1), string.sub(open, OPEN_ID + 2, OPEN_TIMES)
end

-- Whether the channel's open request is of this push.
local function is_open_for(z, channel, push)
    local open = redis.call('HGET', z, channel) or ''
    return string.sub(open, OPEN_ID + 2, OPEN_TIMES) == push
end

-- How long a request may still be open, ms. A time that lies further ahead than its length is another clock's.
local function open_left(z, channel, now)
    local open = redis.call('HGET', z, channel) or ''
    local till, length = string.match(string.sub(open, OPEN_TIMES + 1), '^(%d+) (%d+)$')
    local left = till and till - now or 0
    return left > 0 and left <= tonumber(length) and left or 0
end
