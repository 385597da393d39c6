-- Fragment for scripts that add a push to a channel's retry queue. ps, ws: common prefixes of the p and w keys

-- Takes the last push out of a queue if `newer` (its `standing`) supersedes it, or if it has expired. Returns the queue,
-- and whether that was so.
local function supersede_last(queue, newer, ps, ws, now)
    local last = id_text(last_of(queue))
    local other = redis.call('HMGET', ps .. last, unpack(standing))
    if takes_place(newer, other) or not other[2] then
        leave(ps .. last, ws .. last, 'superseded', '', now)
        return without(queue, pushes_in(queue)), true
    end
    return queue, false
end

-- Gives up the oldest push of a full queue, because newer pushes matter more. The first push may be in flight, so it
-- stays, and each `end` stays.
local function make_room(queue, ps, ws, now)
    for position = 2, pushes_in(queue) do
        local old = id_text(push_at(queue, position))
        if redis.call('HGET', ps .. old, 'event') ~= 'end' then
            leave(ps .. old, ws .. old, 'failed', 'TooManyWaiting', now)
            return without(queue, position)
        end
    end
    return queue
end
