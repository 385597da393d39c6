-- Fragment for retry-settle: outcomes that come after their attempt was settled. Answers to open requests, their end without
-- an answer, and an `end` that was delivered in a page whose lease is lost. name: see shared-attempt-ends
-- uses attempts

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
        delivered_after(name.ps .. text, name.dls .. text, channel, text, name.now, tonumber(string.sub(c, 2)), true)
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
