-- Settles one page in one step: counters, checkpoint, lease, retry queues, pending removals, early stop, the finish of
-- the sweep and of the push.
-- KEYS[1] n: name meta, hash
-- KEYS[2] q: the name's unswept pushes, zset by sequence number
-- KEYS[3] p: this push, hash
-- KEYS[4] w: its tasks, hash
-- KEYS[5] r: waiting channels, zset by due time (ms)
-- KEYS[6] h: their retry queues, hash
-- KEYS[7] k: catch-up, zset
-- KEYS[8] o: pending removals, hash
-- ARGV[1] push id
-- ARGV[2] push id, 16 bytes
-- ARGV[3] shard, or 'c' for the catch-up
-- ARGV[4] owner
-- ARGV[5] epoch
-- ARGV[6] lease, ms
-- ARGV[7] first position of the page; in the catch-up the page's number
-- ARGV[8] position after the page
-- ARGV[9] first position of the shard
-- ARGV[10] position after the shard
-- ARGV[11] reason to stop the push early, or ''
-- ARGV[12] common prefix of the p keys
-- ARGV[13] common prefix of the w keys
-- ARGV[14] retention, ms
-- ARGV[15] common prefix of the dl keys
-- ARGV[16] 1: the push was stopped, so the rest of the shard is given up. Its position is kept for an operator.
-- ARGV[17 ...] operations, each with its arguments:
--   'dead' channel reason: a token of the page is given up. 'add' counts it.
--   'add' field n: adds n to a counter of the push, for tokens that this page read.
--   'owe' channel-and-token value: a pending removal, counted when it is confirmed.
--   'retry' channel due attempts: a token of the page that is tried again at due (ms). 'add' counts it as read.
--   'hold' channel attempts: the channel waits for an older push, so this push joins its retry queue and is counted
--     here. If it supersedes a push there, it takes over that push's attempts, but not more than this number.
--   'caught' channel arrival: the catch-up has handled the channel, unless it registered once more.
-- Returns {'stale'}: another worker has the lease. Nothing was written.
--   {'gone'}: no such push.
--   {'ok', state, part finished 0|1, unswept pushes of the name, due ms of its first waiting channel or '', pending
--     removals of other pushes, catch-up waits 0|1}
-- Atomic. If the worker dies before this call, the next owner of the shard reads and sends the page again. After this
-- call it does not. Repeating the call counts nothing twice.
local id, raw, s = ARGV[1], ARGV[2], ARGV[3]
local n, q, p, w, r, h, k, o = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local state = redis.call('HGET', p, 'state')
if not state then return {'gone'} end
local time = redis_now()
local now = string.format('%.0f', time)
local task = redis.call('HMGET', w, s .. ':e', s .. ':o', s .. ':p', s .. ':a', s .. ':f')
if task[1] ~= ARGV[5] or task[2] ~= ARGV[4] then return {'stale'} end
redis.call('HSET', w, s .. ':d', string.format('%.0f', time + ARGV[6]))

-- The checkpoint: `p` is the position up to which everything is settled. `a` holds pages that are settled ahead of it,
-- as from-to pairs. If a page lies in them, an earlier call settled it and its answer was lost. Then nothing is counted
-- again.
local from, to = tonumber(ARGV[7]), tonumber(ARGV[8])
local position, ahead = math.max(tonumber(task[3] or '0'), tonumber(ARGV[9])), {}
for a, b in string.gmatch(task[4] or '', '(%d+)-(%d+)') do ahead[#ahead + 1] = {tonumber(a), tonumber(b)} end
local repeated = from < to and to <= position
for _, range in ipairs(ahead) do repeated = repeated or (range[1] <= from and to <= range[2]) end

local stopped = state == 'failed' or state == 'cancelled'
local dl = ARGV[15] .. id
local this = redis.call('HMGET', p, unpack(standing))
local stopReason = redis.call('HGET', p, 'stopped')
local mostWaiting = 64

-- Adds this push at the end of the channel's retry queue. It may supersede the last push there. The channel's due time
-- stays, so that a backoff or Retry-After outlives the superseded push.
local function wait(channel, due, attempts, isCounted)
    -- A queued push goes to the token that the channel has when it is sent, so there is nothing left to catch up with.
    redis.call('ZREM', k, channel)
    local list = redis.call('HGET', h, channel)
    if list and #list >= 19 and string.sub(list, -16) == raw then
        if isCounted then redis.call('HINCRBY', p, 'skipped', 1) end
        return
    end
    if not isCounted then redis.call('HINCRBY', p, 'targets', 1) end
    if stopped then
        redis.call('HINCRBY', p, state == 'failed' and 'failed' or 'skipped', 1)
        -- The request was in flight when the push was stopped. Its channel is kept like those that waited then.
        local isKept = state == 'failed' and stopReason and redis.call('EXISTS', dl) == 1
        if isKept then give_up(dl, channel, stopReason, false, now) end
        return
    end
    redis.call('HINCRBY', w, 'wait', 1)
    if not list or #list < 19 then
        redis.call('HSET', h, channel, header(due and tonumber(attempts) or 0, 0, 0) .. raw)
        redis.call('ZADD', r, due or now, channel)
        redis.call('PEXPIRE', h, ARGV[14])
        redis.call('PEXPIRE', r, ARGV[14])
        return
    end
    local last = id_text(string.sub(list, -16))
    local other = redis.call('HMGET', ARGV[12] .. last, unpack(standing))
    if takes_place(this, other) or not other[2] then
        leave(ARGV[12] .. last, ARGV[13] .. last, 'superseded', '', now)
        local before = read_header(list) or 0
        list = without(list, #list - 15)
        if #list == 3 then list = header(math.min(before, tonumber(attempts)), string.byte(list, 3), 0) end
    elseif #list >= 3 + 16 * mostWaiting then
        -- The queue is full. Give up the oldest push after the first that is no `end`, because newer pushes matter
        -- more.
        for at = 20, #list, 16 do
            local old = id_text(string.sub(list, at, at + 15))
            if redis.call('HGET', ARGV[12] .. old, 'event') ~= 'end' then
                leave(ARGV[12] .. old, ARGV[13] .. old, 'failed', 'TooManyWaiting', now)
                list = without(list, at)
                break
            end
        end
    end
    redis.call('HSET', h, channel, list .. raw)
end

local i = repeated and #ARGV + 1 or 17
while i <= #ARGV do
    local op, a, b, c = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
    if op == 'dead' then
        give_up(dl, a, b, false, now)
        i = i + 3
    elseif op == 'add' then
        redis.call('HINCRBY', p, a, b)
        if a == 'expired' then note_expired(dl, b, now) end
        i = i + 3
    elseif op == 'owe' then
        if redis.call('HSET', o, raw .. a, b) == 1 then
            redis.call('HINCRBY', w, 'owed', 1)
        else
            -- A page counted this token as a target, and the catch-up read it again: it is one target.
            redis.call('HINCRBY', p, 'targets', -1)
        end
        redis.call('PEXPIRE', o, ARGV[14])
        i = i + 3
    elseif op == 'retry' then
        wait(a, b, c, true)
        i = i + 4
    elseif op == 'hold' then
        wait(a, nil, b, false)
        i = i + 3
    elseif op == 'caught' then
        if redis.call('ZSCORE', k, a) == b then redis.call('ZREM', k, a) end
        i = i + 3
    else
        return redis.error_reply('ERR task-settle: unknown operation')
    end
end

if ARGV[11] ~= '' and not stopped then
    state, stopped = 'failed', true
    note_stop(dl, w, ARGV[11], now)
    stop(p, w, state, now)
    redis.call('HSET', p, 'stopped', ARGV[11])
end

if ARGV[16] == '1' and state == 'failed' and not task[5] and redis.call('EXISTS', dl) == 1 then
    redis.call('HSET', dl, 'p:' .. s, string.format('%.0f %s ', position, task[1]) .. (task[4] or ''))
end
ahead[#ahead + 1] = {from, to}
table.sort(ahead, function(x, y) return x[1] < y[1] end)
local rest = {}
for _, range in ipairs(ahead) do
    local before = rest[#rest]
    if range[1] <= position then
        position = math.max(position, range[2])
    elseif before and range[1] <= before[2] then
        before[2] = math.max(before[2], range[2])
    else
        rest[#rest + 1] = {range[1], range[2]}
    end
end
for index, range in ipairs(rest) do rest[index] = string.format('%.0f-%.0f', range[1], range[2]) end
redis.call('HSET', w, s .. ':p', string.format('%.0f', position), s .. ':a', table.concat(rest, ','))
if from < to and not repeated then redis.call('HDEL', w, s .. ':c') end

local finished, tail = 0, 0
if s ~= 'c' and position >= tonumber(ARGV[10]) then
    finished = 1
    if not task[5] then
        redis.call('HSET', w, s .. ':f', 1)
        redis.call('HINCRBY', w, 'left', -1)
    end
end
if redis.call('HGET', w, 'left') == '0' and redis.call('HGET', p, 'expanded') ~= '1' then
    if stopped or redis.call('EXISTS', k) == 0 then
        redis.call('HSET', p, 'expanded', 1)
        redis.call('UNLINK', k)
        redis.call('ZREM', q, id)
        if redis.call('HGET', n, 'active') == id then redis.call('HDEL', n, 'active', 'catch') end
        finished = 1
    else
        tail = 1
        -- Constant registrations must not delay the name's next push for ever. The sweep of that push finds the later
        -- ones.
        if s == 'c' and position >= 16 and redis.call('ZCARD', q) > 1 then redis.call('HDEL', n, 'catch') end
    end
end
local owed = tonumber(redis.call('HGET', w, 'owed') or 0)
state = finish(p, w, now)
local first = redis.call('ZRANGE', r, 0, 0, 'WITHSCORES')[2] or ''
return {'ok', state, finished, redis.call('ZCARD', q), first, redis.call('HLEN', o) - owed, tail}
