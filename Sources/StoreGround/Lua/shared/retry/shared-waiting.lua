-- Fragment for task-settle: channels of the page wait, for their retries or behind an older push.
-- push: what task-settle knows of the push. Its fields: p, w, h, r, k, z, dl keys; ps, ws, dls prefixes; raw id; state,
-- stopReason, isStopped, supersedeFields, now (text), time, retention.
-- uses supersede-queued, open

-- Returns a channel's retry queue with the push at its end, where it may supersede one. most: attempts that it keeps
local function with_push(push, channel, queue, most)
    local rest = supersede_last(queue, push.supersedeFields, push.ps, push.ws)
    if is_full(rest) then rest = make_room(rest, channel, push.ps, push.ws, push.dls, push.retention) end
    local joined = rest .. push.raw
    if pushes_in(joined) == 1 or pushes_in(joined) == 2 and may_give_way(joined, 1, push.ps) then
        -- The push goes out next, and keeps the attempts of the one that it supersedes.
        joined = with_header(joined, math.min(read_header(queue) or 0, most), registrations_of(joined))
    end
    return joined
end

-- Leaves the request of a channel open. Returns the channel's queue, which waits for its end.
local function hold_queue(push, channel, queue, entry)
    -- A stopped push is not in an older queue. Nothing newer may overtake its request, though.
    if not has_pushes(queue) then queue = header(0, 0, 0, entry.platform) .. push.raw end
    local registrations = registrations_of(queue)
    leave_open(push.z, push.r, channel, entry.open, registrations, push.raw, push.time, entry.length, push.retention)
    -- The channel registered another token while the request was out, and needs the push at that token too.
    return entry.isRotated and registered_again(queue) or queue
end

-- Adds the push to the channels' retry queues. Due times stay: a backoff or Retry-After outlives a superseded push.
-- waiting: of each {channel, attempts, platform = of the channel, due = nil behind an older push, isCounted = it is
-- counted as a target, open = id of its open request, length = how long that may be open}
local function join_queues(push, waiting)
    local channels, caughtUp, queues, dues = {}, {}, {}, {}
    for at, entry in ipairs(waiting) do
        channels[at] = entry[1]
        -- The retry goes to the token that the channel has then, so the catch-up has nothing to send to it.
        if entry.open then
            entry.isRotated = redis.call('ZREM', push.k, entry[1]) == 1
        else
            caughtUp[#caughtUp + 1] = entry[1]
        end
    end
    call_with_list('ZREM', push.k, caughtUp)
    local stored = read_fields(push.h, channels)
    for _, entry in ipairs(waiting) do
        local channel, attempts = entry[1], tonumber(entry[2])
        local queue = stored[channel]
        local before = queue
        if has_pushes(queue) and last_of(queue) == push.raw then
            if entry.isCounted then count(push.p, 'skipped', 1, entry.platform) end
        else
            if not entry.isCounted then count(push.p, 'targets', 1, entry.platform) end
            if push.isStopped then
                count_stopped(push.p, push.dl, channel, push.state, push.stopReason, entry.platform)
            else
                if has_pushes(queue) then
                    queue = with_push(push, channel, queue, attempts)
                else
                    queue = header(entry.due and attempts or 0, 0, 0, entry.platform) .. push.raw
                    if not entry.open then
                        dues[#dues + 1] = entry.due or push.now
                        dues[#dues + 1] = channel
                    end
                end
                count(push.w, 'wait', 1, platform_of(queue))
            end
        end
        if entry.open then queue = hold_queue(push, channel, queue, entry) end
        if queue ~= before then
            queues[#queues + 1] = channel
            queues[#queues + 1] = queue
            stored[channel] = queue
        end
    end
    if #queues == 0 then return end
    call_with_list('HSET', push.h, queues)
    call_with_list('ZADD', push.r, dues)
    redis.call('PEXPIRE', push.h, push.retention)
    redis.call('PEXPIRE', push.r, push.retention)
end

-- Notes the page's pending removals in o. They are counted when they are confirmed. removals: field and value in turns
local function note_removals(push, o, removals)
    if #removals == 0 then return end
    local parts = {}
    for at = 1, #removals, 2 do
        -- The platform is behind the kind.
        local platform = string.byte(removals[at + 1], 2) or 0
        parts[platform] = parts[platform] or {}
        table.insert(parts[platform], removals[at])
        table.insert(parts[platform], removals[at + 1])
    end
    for platform, part in pairs(parts) do
        local added = call_with_list('HSET', o, part)
        count(push.w, 'owed', added)
        -- Another page counted the other tokens as targets, and the catch-up read them again. Each is one target.
        if added < #part / 2 then count(push.p, 'targets', added - #part / 2, platform) end
    end
    redis.call('PEXPIRE', o, push.retention)
end
