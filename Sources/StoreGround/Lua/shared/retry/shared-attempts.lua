-- Fragment for retry-settle: an attempt at a waiting channel is settled. The push is the first of the channel's queue, or
-- the second if it may supersede the first. name: see shared-attempt-ends
-- uses attempt-ends

local function is_whole(queue) return has_pushes(queue) and (#queue - QUEUE_HEADER) % ID_BYTES == 0 end
local function first_of(queue) return push_at(queue, 1) end

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

-- Ends the first push, because the one behind it was delivered. Returns the queue, with the attempts of that one.
local function superseded_first(name, queue)
    local first = id_text(first_of(queue))
    end_entry(name.ps .. first, name.ws .. first, 'superseded', '', platform_of(queue))
    return with_header(without(queue, 1), (read_header(queue)), registrations_of(queue))
end

-- A withdrawn push was delivered after all. The pushes behind it that it superseded, and that came back, do not go out.
-- queue: begins with that push
local function without_older(name, queue, push)
    local newer = supersede_fields_of(name.ps .. id_text(push))
    while pushes_in(queue) > 1 do
        local older = id_text(push_at(queue, 2))
        if not (newer.event and may_supersede(newer, supersede_fields_of(name.ps .. older))) then break end
        end_entry(name.ps .. older, name.ws .. older, 'superseded', '', platform_of(queue))
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
        settle_removal(name, channel, queue, push, a, b, nil)
        redis.call('HSET', name.h, channel, with_header(queue, false, registrations_of(queue)))
        redis.call('ZREM', name.r, channel)
    else
        if op == 'pop' then
            settle_attempt(name, channel, queue, push, a, b, c)
        else
            settle_removal(name, channel, queue, push, a, b, c)
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
