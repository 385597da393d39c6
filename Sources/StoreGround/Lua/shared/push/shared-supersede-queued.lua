-- Fragment for scripts that add a push to a channel's retry queue. ps, ws, dls: common prefixes of the p, w and dl keys

-- Takes the last push out if `newer` supersedes it or it has expired. Returns the queue, and whether it took one out.
local function supersede_last(queue, newer, ps, ws)
    local last = id_text(last_of(queue))
    local other = supersede_fields_of(ps .. last)
    if may_supersede(newer, other) or not other.event then
        end_entry(ps .. last, ws .. last, 'superseded', '')
        return without(queue, pushes_in(queue)), true
    end
    return queue, false
end

-- Gives up the oldest push of a full queue, but not the first, which may be in flight, and no `end`. The app's list of
-- dead letters is on another slot, so the worker of the name's next retries lists the pushes in dl:unlisted.
local function make_room(queue, channel, ps, ws, dls, retention)
    for position = 2, pushes_in(queue) do
        local old = id_text(push_at(queue, position))
        if supersede_fields_of(ps .. old).event ~= 'end' then
            if end_entry(ps .. old, ws .. old, 'failed', 'TooManyWaiting') then
                if not givenUp[dls .. old] and redis.call('SADD', dls .. 'unlisted', old) == 1 then
                    redis.call('PEXPIRE', dls .. 'unlisted', retention)
                end
                give_up(dls .. old, channel, 'TooManyWaiting', false)
            else
                keep_stopped(ps .. old, dls .. old, channel)
            end
            return without(queue, position)
        end
    end
    return queue
end
