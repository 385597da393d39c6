-- Fragment for scripts that end pushes or their entries in retry queues.
-- p: a push's record; w: its tasks, whose `wait` counts the push's entries in retry queues, and `owed` its removals.
-- `wait@1` and the like: the part of `wait` on each platform, as the queues' headers tell it
-- uses constants, platforms, ended, tally, comeback

-- Whether a finished `end` reached neither a token nor the broadcast channel: nothing was delivered, and the push was
-- stopped or something of it failed or expired. False for an `end` that finished without a target.
local function reached_nobody(p, state)
    local delivered, broadcast, failed, expired = unpack(redis.call('HMGET', p, 'delivered', 'bc', 'failed', 'expired'))
    if tonumber(delivered or 0) > 0 or broadcast == 'delivered' then return false end
    return state == 'cancelled' or state == 'failed' or tonumber(failed or 0) + tonumber(expired or 0) > 0
        or broadcast == 'failed' or broadcast == 'expired'
end

-- Adds the end of a push to its name's outbox. tell: the number of the outgoing event for this end
local function note_end(p, tell, state, now)
    local outbox = string.sub(p, 1, -37) .. 'outbox'
    redis.call('RPUSH', outbox, string.format('%s %s %s %s', string.sub(p, -36), tell, state, now))
    redis.call('PEXPIRE', outbox, OUTBOX_LIFE)
end

-- Does so unless the end is there. tell: the push's field of that name. It is negative once the end is in the outbox,
-- and absent if the app has no outgoing events.
local function tell_end(p, tell, state, now)
    if not tell or tonumber(tell) <= 0 then return end
    redis.call('HSET', p, 'tell', -tell)
    note_end(p, tell, state, now)
end

-- Ids of the pushes that became final in this script, so that its caller logs them; `+` if an older push waits again.
local finalPushes = {}

-- Finishes a push once its sweep is finished and no retry, removal or broadcast (`bc`) of it is pending. Returns its
-- state. An `end` that reached no device closes its name (`closes`: key of the name's meta) no more, and what a push
-- superseded comes back if the push does not stand. A push that one of its platforms refused (`stopped@1`) and that reached
-- nobody on the others ends as if it was stopped.
local function finish(p, w, now)
    local fields = redis.call('HMGET', p, 'state', 'expanded', 'targets', 'expired', 'closes', 'tell',
        on_platforms('stopped'))
    local state, expanded, targets, expired, closes, tell = unpack(fields)
    local refusal
    for i = 7, #fields do refusal = refusal or fields[i] end
    local waiting, removals, broadcast = unpack(redis.call('HMGET', w, 'wait', 'owed', 'bc'))
    if expanded ~= '1' or tonumber(waiting or 0) > 0 or tonumber(removals or 0) > 0 or broadcast then return state end
    if state == 'queued' or state == 'sending' then
        state = expired and expired == targets and 'expired' or 'done'
        if refusal and reached_nobody(p, state) then
            state = 'failed'
            redis.call('HSET', p, 'stopped', refusal)
        end
        redis.call('HSET', p, 'state', state, 'finished', now)
        finalPushes[#finalPushes + 1] = string.sub(p, -36)
    end
    if closes and reached_nobody(p, state) then undo_close(closes, string.sub(p, -36)) end
    local hasExpired = tonumber(expired or 0) > 0
    -- If APNs refuses the second one too, its reason is not what they say. A thousand may have superseded each other.
    local mayFall = hasExpired or state == 'cancelled' or state == 'failed' and not redis.call('HGET', p, 'back')
    if mayFall and standing(p) == 'no' and bring_back(p, tonumber(now), hasExpired) then
        finalPushes[#finalPushes + 1] = '+'
    end
    tell_end(p, tell, state, now)
    redis.call('UNLINK', w)
    return state
end

-- Stops a push (failed, cancelled or superseded) and counts its entries in retry queues. They stay but count no more.
local function end_push(p, w, state, now)
    redis.call('HSET', p, 'state', state, 'finished', now)
    finalPushes[#finalPushes + 1] = string.sub(p, -36)
    -- The first one is the sum of all platforms.
    local parts = {'', on_platforms('')}
    for i, waiting in ipairs(redis.call('HMGET', w, 'wait', on_platforms('wait'))) do
        if tonumber(waiting or 0) > 0 then
            redis.call('HINCRBY', p, (state == 'cancelled' and 'skipped' or state) .. parts[i], waiting)
            redis.call('HSET', w, 'wait' .. parts[i], 0)
        end
    end
end

local function is_open(p)
    local state = redis.call('HGET', p, 'state')
    return state == 'sending' or state == 'queued'
end

-- Pushes whose entries ended in this script, by p.
local endedIn = {}

-- Ends one retry queue entry of a push as `field`, and counts it under `reason` unless that is ''. Returns false if the
-- push is final (stopped, cancelled, expired), because it has counted the entry already. finish_pushes completes it.
-- platform: as the queue's header tells it
local function end_entry(p, w, field, reason, platform)
    if not endedIn[p] then endedIn[p] = {w = w, isOpen = is_open(p)} end
    if not endedIn[p].isOpen then return false end
    count(p, field, 1, platform)
    endedIn[p].reaches = endedIn[p].reaches or field == 'delivered'
    if reason ~= '' then count(p, 'e:' .. reason, 1) end
    count(w, 'wait', -1, platform)
    return true
end

-- Writes the counts, and finishes the pushes whose entries ended.
local function finish_pushes(now)
    write_counts()
    for p, push in pairs(endedIn) do
        local state = push.isOpen and finish(p, push.w, now)
        if push.reaches and state == 'sending' then redis.call('HSETNX', p, 'first', now) end
    end
    endedIn = {}
end
