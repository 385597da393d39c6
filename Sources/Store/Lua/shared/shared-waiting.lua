-- Fragment for task-settle: a channel of the page waits, for its retry or behind an older push.
-- push: what task-settle knows of the push. Its fields: p, w, h, r, k, dl keys; ps, ws, dls prefixes; raw id; state,
-- stopReason, isStopped, standing, now, retention.

-- Counts a channel of a push that was stopped while its request was in flight.
local function count_stopped(push, channel)
    redis.call('HINCRBY', push.p, push.state == 'failed' and 'failed' or 'skipped', 1)
    -- The channel is kept like those that waited when the push was stopped.
    local isKept = push.state == 'failed' and push.stopReason and redis.call('EXISTS', push.dl) == 1
    if isKept then give_up(push.dl, channel, push.stopReason, false, push.now) end
end

-- Adds the push at the end of the channel's retry queue. It may supersede the last push there. The channel's due time
-- stays, so that a backoff or Retry-After outlives the superseded push.
-- due: nil for a channel that waits behind an older push. isCounted: the channel is counted as a target
local function wait(push, channel, due, attempts, isCounted)
    -- The retry goes to the token that the channel has then, so the catch-up has nothing to send to it.
    redis.call('ZREM', push.k, channel)
    local queue = redis.call('HGET', push.h, channel)
    if has_pushes(queue) and last_of(queue) == push.raw then
        if isCounted then redis.call('HINCRBY', push.p, 'skipped', 1) end
        return
    end
    if not isCounted then redis.call('HINCRBY', push.p, 'targets', 1) end
    if push.isStopped then return count_stopped(push, channel) end
    redis.call('HINCRBY', push.w, 'wait', 1)
    if not has_pushes(queue) then
        redis.call('HSET', push.h, channel, header(due and tonumber(attempts) or 0, 0, 0) .. push.raw)
        redis.call('ZADD', push.r, due or push.now, channel)
        redis.call('PEXPIRE', push.h, push.retention)
        redis.call('PEXPIRE', push.r, push.retention)
        return
    end
    local rest, superseded = supersede_last(queue, push.standing, push.ps, push.ws, push.now)
    if not superseded and is_full(rest) then
        rest = make_room(rest, channel, push.ps, push.ws, push.dls, push.now)
    elseif not has_pushes(rest) then
        -- The push is first now, and keeps the attempts of the one that it superseded.
        local before = read_header(queue) or 0
        rest = header(math.min(before, tonumber(attempts)), registrations_of(rest), 0)
    end
    redis.call('HSET', push.h, channel, rest .. push.raw)
end
