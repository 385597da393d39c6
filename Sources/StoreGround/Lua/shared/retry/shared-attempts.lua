-- Fragment for retry-settle: an attempt at a waiting channel is settled. The push is the first of the channel's queue.
-- name: what retry-settle knows of the name. Its fields: r, h, o, z keys; ps, ws, dls prefixes; now (text), time (ms),
-- retention.
-- uses supersede-queued, open

-- Notes a pending removal. Returns whether it is new.
local function note_removal(name, channel, push, token, value)
    local field = push .. string.char(math.floor(#channel / 256), #channel % 256) .. channel .. token
    local isNew = redis.call('HSET', name.o, field, value) == 1
    redis.call('PEXPIRE', name.o, name.retention)
    return isNew
end

-- Where the push that goes out next is in the queue: first, or second if it may supersede the first. Nil: the push does
-- not go out next, or the queue waits for the removal of a delivered `end`.
local function place_of(name, queue, push)
    if not has_pushes(queue) or end_delivered(queue) then return nil end
    if first_of(queue) == push then return 1 end
    return pushes_in(queue) > 1 and push_at(queue, 2) == push and may_give_way(queue, 1, name.ps) and 2 or nil
end

-- Whether the push goes out next, with the attempts that the sender saw. late-put may have changed the rest of the header.
local function is_next(name, queue, push, seen)
    return place_of(name, queue, push) and read_header(queue) == read_header(seen)
end

-- Counts a delivery of a push that was stopped, cancelled or superseded in flight: the token moves from failed, skipped
-- or superseded to delivered. An `end` closes its name again, unless a newer push was accepted.
local function delivered_after(p, dl, channel, id, now, isSuperseded)
    local state, stopped, closes, seq, superseded =
        unpack(redis.call('HMGET', p, 'state', 'stopped', 'closes', 'seq', 'superseded'))
    local field = state == 'failed' and stopped and 'failed' or state == 'cancelled' and 'skipped'
    isSuperseded = isSuperseded or state == 'superseded'
    if not field and isSuperseded and tonumber(superseded or 0) > 0 then field = 'superseded' end
    if not field then return end
    redis.call('HINCRBY', p, field, -1)
    redis.call('HINCRBY', p, 'delivered', 1)
    if field == 'failed' and redis.call('EXISTS', dl) == 1 then
        -- A request that was open when its page was settled after the stop has its channel there already.
        redis.call('HDEL', dl .. ':c', channel)
        if redis.call('HINCRBY', dl, 'r:' .. stopped, -1) <= 0 then redis.call('HDEL', dl, 'r:' .. stopped) end
    end
    if closes and redis.call('HGET', closes, 'seq') == seq then close_name(closes, seq, now, id) end
end

-- Finishes the push for the channel. kept: '1' or '2', see retry-settle
local function settle_attempt(name, channel, push, field, reason, kept)
    local text = id_text(push)
    local p, dl = name.ps .. text, name.dls .. text
    if not end_entry(p, name.ws .. text, field, reason) then
        if field == 'delivered' then delivered_after(p, dl, channel, text, name.now) else keep_stopped(p, dl, channel) end
        return
    end
    if kept == '1' then give_up(dl, channel, reason, false) end
    if field == 'expired' then note_expired(dl, 1, name.now, name.retention) end
    if kept == '2' then redis.call('HINCRBY', p, 'stale_tokens', 1) end
end

-- Puts off the push for the channel until `due`.
local function try_again(name, channel, queue, push, due, attempts, reason, duplicates)
    redis.call('HSET', name.h, channel, with_header(queue, tonumber(attempts), registrations_of(queue)))
    redis.call('ZADD', name.r, due, channel)
    local p = name.ps .. id_text(push)
    if redis.call('EXISTS', p) == 1 then
        redis.call('HINCRBY', p, 'retries', 1)
        redis.call('HINCRBY', p, 'e:' .. reason, 1)
        if duplicates ~= '0' then redis.call('HINCRBY', p, 'duplicates', duplicates) end
    end
end

-- Notes the pending removal of a token that is dead or whose `end` was delivered, to be counted once it is confirmed. A
-- final push has counted the token, so only an `end` is noted then, under an id of zeros. reason: nil for an `end`
local function settle_removal(name, channel, push, token, value, reason)
    local text = id_text(push)
    local w, isOpen = name.ws .. text, is_open(name.ps .. text)
    if isOpen then
        redis.call('HINCRBY', w, 'wait', -1)
        if reason then redis.call('HINCRBY', name.ps .. text, 'e:' .. reason, 1) end
        if note_removal(name, channel, push, token, value) then redis.call('HINCRBY', w, 'owed', 1) end
    elseif not reason and note_removal(name, channel, string.rep('\0', ID_BYTES), token, value) then
        delivered_after(name.ps .. text, name.dls .. text, channel, text, name.now)
    end
end

-- Ends the first push, because the one behind it was delivered. Returns the queue, with the attempts of that one.
local function superseded_first(name, queue)
    local first = id_text(first_of(queue))
    end_entry(name.ps .. first, name.ws .. first, 'superseded', '')
    return with_header(without(queue, 1), (read_header(queue)), registrations_of(queue))
end

-- A withdrawn push was delivered after all. The pushes behind it that it superseded, and that came back, do not go out.
-- queue: begins with that push
local function without_older(name, queue, push)
    local newer = supersede_fields_of(name.ps .. id_text(push))
    while pushes_in(queue) > 1 do
        local older = id_text(push_at(queue, 2))
        if not (newer.event and may_supersede(newer, supersede_fields_of(name.ps .. older))) then break end
        end_entry(name.ps .. older, name.ws .. older, 'superseded', '')
        queue = without(queue, 2)
    end
    return queue
end

-- Applies the outcome of a request for the push that goes out next from the channel's queue.
-- registrations: of the queue when the token was looked up
local function settle_next(name, op, channel, push, queue, registrations, a, b, c, d)
    local isSecond = place_of(name, queue, push) == 2
    local isDelivered = op == 'end' or op == 'pop' and a == 'delivered'
    if registrations_of(queue) ~= registrations and not (op == 'pop' and a == 'expired')
        and redis.call('HGET', name.ps .. id_text(push), 'event') ~= 'start' then
        redis.call('HSET', name.h, channel, with_header(queue, 0, registrations_of(queue)))
        redis.call('ZADD', name.r, name.now, channel)
    elseif op == 'again' then
        try_again(name, channel, queue, push, a, b, c, d)
    elseif op == 'end' then
        if isSecond then queue = superseded_first(name, queue) end
        settle_removal(name, channel, push, a, b, nil)
        redis.call('HSET', name.h, channel, with_header(queue, false, registrations_of(queue)))
        redis.call('ZREM', name.r, channel)
    else
        if op == 'pop' then
            settle_attempt(name, channel, push, a, b, c)
        else
            settle_removal(name, channel, push, a, b, c)
        end
        if isSecond and not isDelivered then
            -- It did not arrive, so the push before it goes out.
            redis.call('HSET', name.h, channel, without(queue, 2))
            redis.call('ZADD', name.r, name.now, channel)
        else
            if isSecond then
                queue = superseded_first(name, queue)
            elseif isDelivered and pushes_in(queue) > 1 and not is_open(name.ps .. id_text(push)) then
                queue = without_older(name, queue, push)
            end
            pop(name.h, name.r, channel, queue, name.now)
        end
    end
end

local function has_push(queue, push)
    for position = 1, has_pushes(queue) and pushes_in(queue) or 0 do
        if push_at(queue, position) == push then return true end
    end
    return false
end

-- Applies the answer to a request that was open. The channel's next push may go out now.
local function settle_late(name, op, channel, push, queue, registrations, a, b, c, d)
    if place_of(name, queue, push) then
        return settle_next(name, op, channel, push, queue, registrations, a, b, c, d)
    end
    if op == 'pop' and a == 'delivered' and not has_push(queue, push) then
        local text = id_text(push)
        delivered_after(name.ps .. text, name.dls .. text, channel, text, name.now, true)
    end
    if has_pushes(queue) and not end_delivered(queue) then
        redis.call('ZADD', name.r, op == 'again' and a or name.now, channel)
    end
end

-- An `end` was delivered, and nobody may settle its page: the lease is lost, or the open request has lapsed. That is a
-- fact about the token all the same. seen: the queue's header when the token was looked up, or anything of another length
local function note_end_delivered(name, channel, push, seen, queue, token, value)
    if #seen == QUEUE_HEADER and place_of(name, queue, push) then
        return settle_next(name, 'end', channel, push, queue, registrations_of(seen), token, value)
    end
    -- A repetition finds the removal pending.
    if end_delivered(queue) and first_of(queue) == push then return end
    note_removal(name, channel, string.rep('\0', ID_BYTES), token, value)
end

-- Ends an open request whose time is over. Its push may have arrived, and is tried again.
local function lapse(name, channel)
    local left = open_left(name.z, channel, name.time)
    if left > 0 then
        redis.call('ZADD', name.r, 'XX', string.format('%.0f', name.time + left), channel)
        return
    end
    local registrations, push = take_open(name.z, channel, string.sub(redis.call('HGET', name.z, channel) or '', 1, 8))
    local queue = redis.call('HGET', name.h, channel)
    -- It was found because it is due, and stays so. Nothing else is left to do for a newer push.
    local due = redis.call('ZSCORE', name.r, channel)
    if due and push and place_of(name, queue, push) then
        settle_next(name, 'again', channel, push, queue, registrations, due, (read_header(queue)), 'Timeout', '1')
    end
end
