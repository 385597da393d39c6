-- Fragment that Lua.swift puts before scripts that end pushes or their entries in retry queues.
-- p is a push's record (hash), w its tasks (hash). w's `wait` counts the push's entries in the name's retry queues, and
-- `owed` its pending removals. A push id is 16 bytes in a queue and text in a key.
local function id_text(raw)
    local hex = string.gsub(raw, '.', function(c) return string.format('%02x', string.byte(c)) end)
    return string.format('%s-%s-%s-%s-%s', string.sub(hex, 1, 8), string.sub(hex, 9, 12), string.sub(hex, 13, 16),
        string.sub(hex, 17, 20), string.sub(hex, 21))
end

-- Whether a finished `end` reached neither a token nor the broadcast channel: nothing was delivered, and the push was
-- stopped or something of it failed or expired. False for an `end` that finished without a target.
local function reached_nobody(p, state)
    local push = redis.call('HMGET', p, 'delivered', 'bc', 'failed', 'expired')
    if tonumber(push[1] or 0) > 0 or push[2] == 'delivered' then return false end
    return state == 'cancelled' or state == 'failed' or tonumber(push[3] or 0) + tonumber(push[4] or 0) > 0
        or push[2] == 'failed' or push[2] == 'expired'
end

-- Finishes a push once its sweep is finished and it has no entry in a retry queue, no pending removal and no waiting
-- broadcast (`bc`). Returns the push's state. An `end` that reached no device does not close its name any more
-- (`closes` is the key of the name's meta).
local function finish(p, w, now)
    local push = redis.call('HMGET', p, 'state', 'expanded', 'targets', 'expired', 'closes')
    local open = redis.call('HMGET', w, 'wait', 'owed', 'bc')
    if push[2] ~= '1' or tonumber(open[1] or 0) > 0 or tonumber(open[2] or 0) > 0 or open[3] then return push[1] end
    if push[1] == 'queued' or push[1] == 'sending' then
        push[1] = push[4] and push[4] == push[3] and 'expired' or 'done'
        redis.call('HSET', p, 'state', push[1], 'finished', now)
    end
    if push[5] and reached_nobody(p, push[1]) then take_back(push[5], string.sub(p, -36)) end
    redis.call('UNLINK', w)
    return push[1]
end

-- Keeps a channel that a push gave up, so that an operator can decide about it. Kept for 7 days. dl counts tokens by
-- reason (`r:`) and says why the push was stopped. dl:c holds the first 10,000 channels. `over` counts the others.
-- `isCounted`: `r:` counts this token already.
local function give_up(dl, channel, reason, isCounted, now)
    if not isCounted then redis.call('HINCRBY', dl, 'r:' .. reason, 1) end
    redis.call('HSET', dl, 'at', now)
    redis.call('PEXPIRE', dl, 604800000)
    if redis.call('HLEN', dl .. ':c') < 10000 then
        redis.call('HSET', dl .. ':c', channel, reason)
        redis.call('PEXPIRE', dl .. ':c', 604800000)
    else
        redis.call('HINCRBY', dl, 'over', 1)
    end
end

-- Tells an operator how many tokens of a push expired unsent. Their channels are not kept, because nothing of the push
-- may be sent any more.
local function note_expired(dl, tokens, now)
    redis.call('HINCRBY', dl, 'r:Expired', tokens)
    redis.call('HSET', dl, 'at', now)
    redis.call('PEXPIRE', dl, 604800000)
end

-- Notes that a push was stopped, and counts its entries in retry queues. Their channels are kept later, when a worker
-- comes to each entry.
local function note_stop(dl, w, reason, now)
    redis.call('HSET', dl, 'stop', reason, 'at', now)
    local waiting = tonumber(redis.call('HGET', w, 'wait') or 0)
    if waiting > 0 then redis.call('HINCRBY', dl, 'r:' .. reason, waiting) end
    redis.call('PEXPIRE', dl, 604800000)
end

-- Removes a push from the broadcast queue (`line`) with the outcome `how`. This may finish the push.
local function leave_broadcast(line, ps, ws, id, how, now)
    if redis.call('EXISTS', ps .. id) == 1 then redis.call('HSET', ps .. id, 'bc', how) end
    if redis.call('EXISTS', ws .. id) == 1 then
        redis.call('HDEL', ws .. id, 'bc')
        finish(ps .. id, ws .. id, now)
    end
    redis.call('ZREM', line, id)
end

-- Stops a push (failed, cancelled or superseded) and counts its entries in retry queues at once. The entries stay in
-- the queues but count nothing any more.
local function stop(p, w, state, now)
    redis.call('HSET', p, 'state', state, 'finished', now)
    local waiting = tonumber(redis.call('HGET', w, 'wait') or 0)
    if waiting > 0 then
        redis.call('HINCRBY', p, state == 'cancelled' and 'skipped' or state, waiting)
        redis.call('HSET', w, 'wait', 0)
    end
end

-- Ends one retry queue entry of a push as `field`, and counts it under `reason` unless that is ''. Returns false if the
-- push is final (stopped, cancelled, expired), because it has counted the entry already.
local function leave(p, w, field, reason, now)
    local state = redis.call('HGET', p, 'state')
    if state ~= 'sending' and state ~= 'queued' then return false end
    redis.call('HINCRBY', p, field, 1)
    if reason ~= '' then redis.call('HINCRBY', p, 'e:' .. reason, 1) end
    redis.call('HINCRBY', w, 'wait', -1)
    finish(p, w, now)
    return true
end

local function redis_now()
    local time = redis.call('TIME')
    return time[1] * 1000 + math.floor(time[2] / 1000)
end
