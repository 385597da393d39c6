-- Fragment for scripts that add a push to a channel's retry queue. ps, ws, dls: common prefixes of the p, w and dl keys

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
-- stays, and each `end` stays. dl:unlisted holds pushes whose dead letters are not on the app's list, which is on another
-- slot. The worker of the name's next retries lists them.
local function make_room(queue, channel, ps, ws, dls, now)
    for position = 2, pushes_in(queue) do
        local old = id_text(push_at(queue, position))
        if redis.call('HGET', ps .. old, 'event') ~= 'end' then
            if leave(ps .. old, ws .. old, 'failed', 'TooManyWaiting', now) then
                give_up(dls .. old, channel, 'TooManyWaiting', false, now)
                local isNew = redis.call('SADD', dls .. 'unlisted', old) == 1
                if isNew then redis.call('PEXPIRE', dls .. 'unlisted', DEAD_LETTER_LIFE) end
            else
                keep_stopped(ps .. old, dls .. old, channel, now)
            end
            return without(queue, position)
        end
    end
    return queue
end
