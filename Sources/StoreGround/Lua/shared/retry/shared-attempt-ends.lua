-- Fragment for retry-settle: the outcome of a push at a waiting channel, counted where the push is kept.
-- name: the name as retry-settle knows it. Its fields: r, h, o, z keys; ps, ws, dls prefixes; now (text), time (ms),
-- retention.
-- uses supersede-queued, open

-- Notes a pending removal. Returns whether it is new.
local function note_removal(name, channel, push, token, value)
    local field = push .. string.char(math.floor(#channel / 256), #channel % 256) .. channel .. token
    local isNew = redis.call('HSET', name.o, field, value) == 1
    redis.call('PEXPIRE', name.o, name.retention)
    return isNew
end

-- Counts a delivery of a push that was stopped, cancelled or superseded in flight: the token moves from failed, skipped
-- or superseded to delivered. An `end` closes its name again, unless a newer push was accepted.
-- platform: of the channel, nil if it is not known
local function delivered_after(p, dl, channel, id, now, platform, isSuperseded)
    local state, stopped, closes, seq, superseded =
        unpack(redis.call('HMGET', p, 'state', 'stopped', 'closes', 'seq', 'superseded'))
    local field = state == 'failed' and stopped and 'failed' or state == 'cancelled' and 'skipped'
    isSuperseded = isSuperseded or state == 'superseded'
    if not field and isSuperseded and tonumber(superseded or 0) > 0 then field = 'superseded' end
    if not field then return end
    for _, part in ipairs((platform or 0) > 0 and {'', '@' .. platform} or {''}) do
        redis.call('HINCRBY', p, field .. part, -1)
        redis.call('HINCRBY', p, 'delivered' .. part, 1)
    end
    if field == 'failed' and redis.call('EXISTS', dl) == 1 then
        -- A request that was open when its page was settled after the stop has its channel there already.
        redis.call('HDEL', dl .. ':c', channel)
        if redis.call('HINCRBY', dl, 'r:' .. stopped, -1) <= 0 then redis.call('HDEL', dl, 'r:' .. stopped) end
    end
    if closes and redis.call('HGET', closes, 'seq') == seq then close_name(closes, seq, now, id) end
end

-- Finishes the push for the channel. kept: see retry-settle
local function settle_attempt(name, channel, queue, push, field, reason, kept)
    local text, queued = id_text(push), platform_of(queue)
    local platform = tonumber(string.sub(kept, 2)) or queued
    kept = string.sub(kept, 1, 1)
    local p, dl = name.ps .. text, name.dls .. text
    if not end_entry(p, name.ws .. text, field, reason, queued) then
        if field ~= 'delivered' then return keep_stopped(p, dl, channel) end
        return delivered_after(p, dl, channel, text, name.now, platform)
    end
    -- The queue is of an operator's retry, which does not know the platform.
    if queued == 0 and platform > 0 then count(p, field .. '@' .. platform, 1) end
    if kept == '1' then give_up(dl, channel, reason, false) end
    if field == 'expired' then note_expired(dl, 1, name.now, name.retention) end
    if kept == '2' then redis.call('HINCRBY', p, 'stale_tokens', 1) end
end

-- Puts off the push for the channel until `due`. duplicates: '' = nothing was sent, else '0' or '1'
local function try_again(name, channel, queue, push, due, attempts, reason, duplicates)
    redis.call('HSET', name.h, channel, with_header(queue, tonumber(attempts), registrations_of(queue)))
    redis.call('ZADD', name.r, due, channel)
    local p = name.ps .. id_text(push)
    if redis.call('EXISTS', p) == 1 then
        if duplicates ~= '' then redis.call('HINCRBY', p, 'retries', 1) end
        if reason ~= '' then redis.call('HINCRBY', p, 'e:' .. reason, 1) end
        if duplicates == '1' then redis.call('HINCRBY', p, 'duplicates', 1) end
    end
end

-- Notes the pending removal of a token that is dead or whose `end` was delivered, to be counted once it is confirmed. A
-- final push has counted the token, so only an `end` is noted then, under an id of zeros. reason: nil for an `end`
local function settle_removal(name, channel, queue, push, token, value, reason)
    local text = id_text(push)
    local w, isOpen = name.ws .. text, is_open(name.ps .. text)
    if isOpen then
        count(w, 'wait', -1, platform_of(queue))
        if reason then redis.call('HINCRBY', name.ps .. text, 'e:' .. reason, 1) end
        if note_removal(name, channel, push, token, value) then redis.call('HINCRBY', w, 'owed', 1) end
    elseif not reason and note_removal(name, channel, string.rep('\0', ID_BYTES), token, value) then
        delivered_after(name.ps .. text, name.dls .. text, channel, text, name.now, string.byte(value, 2))
    end
end
