-- Fragment for registry-set: a channel that begins to follow a name, or follows it with another token.
-- uses newest, time, since, queue-late, supersede-queued

-- Notes a new follower: its card began after an `end` was accepted, so older ends are not for it. The clock may be set
-- back in between, so the time is never before that end's, and the next end's is after the latest (`joined`, see
-- push-accept).
-- y: new followers, zset by time (ms). n: name meta. ending: time of the last end, ms. life: of a bucket, ms
local function note_new_follower(y, n, channel, ending, life)
    local now = redis_now()
    local latest = redis.call('HGET', n, 'joined')
    local joined = string.format('%.0f', math.max(now, ending, tonumber(latest) or 0))
    redis.call('ZADD', y, joined, channel)
    redis.call('HSET', n, 'joined', joined)
    redis.call('PEXPIRE', y, life)
    -- A card lives no longer than its bucket. Channels from before that time leave here, 16 at a time.
    local before = string.format('%.0f', now - life)
    for _, other in ipairs(redis.call('ZRANGEBYSCORE', y, '-inf', before, 'LIMIT', 0, 16)) do
        redis.call('ZREM', y, other)
    end
end

-- Tells a request to forget the channel that this registration arrived after it: registry-forget leaves it alone then. Its
-- action may be older by the device's clock. g: channels being forgotten. arrival: ms since 2020
local function note_arrival(g, channel, arrival)
    local asked = redis.call('HGET', g, channel)
    if asked and tonumber(asked) < arrival then redis.call('HSET', g, channel, string.format('%.0f', arrival)) end
end

-- Whether the caller must wake a worker for late joiners: for the first one, and again after a while in case that
-- wake-up was lost. f: late joiners. n: name meta. last: its `late`, the last wake-up
local function needs_wake(f, n, last)
    local now = redis_now()
    if redis.call('HLEN', f) ~= 1 and since(tonumber(last or '') or 0, now) < WAKE_AGAIN then return false end
    redis.call('HSET', n, 'late', string.format('%.0f', now))
    return true
end

-- Notes a late joiner with the last sequence number that it missed. Returns false if the name has no states for it. While
-- a sweep runs, its catch-up usually brings the state and removes the note. The note serves if that push is stopped.
-- Each note has a number, because a worker may still decide about the channel's card before this one, which missed the
-- same pushes. The note also tells the last push of the channel's retry queue, which goes to the card's token from there.
-- v, newest: the newest states. n: name meta. begun: sequence number of the last begun push, or false. isSwept: the
-- name's active push has a catch-up. start: sequence number of the start that created the card, or nil. queue: retries
local function note_late_joiner(v, f, n, channel, newest, begun, isSwept, start, queue)
    if not newest_state(newest, redis_now()) and redis.call('EXISTS', v) == 0 then return false end
    -- The catch-up of the active push covers the channel if it is in the audience.
    local upTo = tonumber(begun or '0') - (isSwept and 1 or 0)
    local number = redis.call('HINCRBY', n, 'arrivals', 1)
    local waits = has_pushes(queue) and ' ' .. id_text(last_of(queue)) or ''
    redis.call('HSET', f, channel, string.format('%.0f %s n%.0f%s', upTo, start or '0', number, waits))
    redis.call('PEXPIRE', f, LATE_LIFE)
    return true
end

-- The newest `end` for everyone, accepted after the card's start, whose sweep has begun. Nil: there is none. A newer
-- end that waits reaches the channel by its own sweep, but the pushes between the two reach it before.
-- ends: of the name's meta, see shared-ended. start: sequence number
local function newest_begun_end(ends, start, ps)
    local found
    for seq, id in string.gmatch(ends, '(%d+):%d+:(%S+)') do
        local state = tonumber(seq) > start and redis.call('HGET', ps .. id, 'state')
        if state == 'sending' or state == 'done' then found = id end
    end
    return found
end

-- Counts a registration in the channel's retry queue, to tell an attempt in flight of the new token. Notes the channel
-- for the catch-up of the active push, unless it waits for that push. catch: that push, 16 bytes; false = no catch-up
local function note_token(h, k, n, channel, catch, life)
    local queue = redis.call('HGET', h, channel)
    -- If an `end` was delivered, it went to the token before this one.
    local waits = has_pushes(queue) and not end_delivered(queue)
    if waits then
        redis.call('HSET', h, channel, registered_again(queue))
    end
    if catch and not (waits and last_of(queue) == catch) then
        redis.call('ZADD', k, redis.call('HINCRBY', n, 'arrivals', 1), channel)
        redis.call('PEXPIRE', k, life)
    end
end

-- Queues an `end` that the card missed at the end of the channel's retry queue. platform: of the card
-- h, r: retry queues and their due times. id, raw: of the end. ps, ws, dls, retention: as registry-set has them
local function queue_missed_end(h, r, channel, platform, id, raw, ps, ws, dls, retention)
    local queue = redis.call('HGET', h, channel)
    local isNew = not has_pushes(queue)
    local now = string.format('%.0f', redis_now())
    if isNew then
        queue = header(0, 0, 0, platform)
    elseif is_full(queue) then
        queue = make_room(queue, channel, ps, ws, dls, retention)
        write_entries(now, retention)
    end
    -- No push of the queue shows its alert. Those before the end are older, or joined while the token was not known.
    queue = without_alerts(queue .. raw)
    queue_late_joiner(ps .. id, ws .. id, h, r, channel, platform, queue, isNew, now, retention)
end
