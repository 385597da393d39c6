-- Fragment for scripts that add a push to a channel's retry queue. ps, ws, dls: common prefixes of the p, w and dl keys

-- Takes the last push out of a queue if `newer` supersedes it, or if it has expired. Returns the queue, and whether
-- that was so. newer: its `supersede_fields`
local function supersede_last(queue, newer, ps, ws)
    local last = id_text(last_of(queue))
    local other = supersede_fields_of(ps .. last)
    if may_supersede(newer, other) or not other.event then
        end_entry(ps .. last, ws .. last, 'superseded', '')
        return without(queue, pushes_in(queue)), true
    end
    return queue, false
end

-- Gives up the oldest push of a full queue, because newer pushes matter more. The first push may be in flight, so it
-- stays, and each `end` stays. The app's list of dead letters is on another slot. So dl:unlisted holds the pushes that
-- are not on it yet, and the worker of the name's next retries lists them.
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
