-- Fragment for scripts that add a push to a channel's retry queue. ps, ws, dls: common prefixes of the p, w and dl keys
-- A push joins behind the one that it may supersede. That one is superseded once the newer one is delivered, and goes out
-- if the newer one is cancelled, refused or expires. So of such pushes in a row the newest two wait.
-- uses queue, dead, supersede, standing

-- The channels of a page wait for the same few pushes.
local standings = {}
local function stands(p)
    standings[p] = standings[p] or standing(p)
    return standings[p] ~= 'no'
end

-- Whether a push of the queue may be superseded by the one behind it.
local function may_give_way(queue, position, ps)
    if position < 1 or position >= pushes_in(queue) then return false end
    local newer = supersede_fields_of(ps .. id_text(push_at(queue, position + 1)))
    return newer.event and may_supersede(newer, supersede_fields_of(ps .. id_text(push_at(queue, position))))
end

-- Makes room for `newer`, which joins at the end. Takes the last push out if its record has expired, or if it does not
-- stand and `newer` supersedes it; the one before it if both may be superseded. Returns the queue.
local function supersede_last(queue, newer, ps, ws)
    local position = pushes_in(queue)
    local last = ps .. id_text(last_of(queue))
    local other = supersede_fields_of(last)
    if other.event then
        if not may_supersede(newer, other) then return queue end
        if stands(last) then
            position = position - 1
            if not may_give_way(queue, position, ps) then return queue end
        end
    end
    local out = id_text(push_at(queue, position))
    end_entry(ps .. out, ws .. out, 'superseded', '', platform_of(queue))
    return without(queue, position)
end

-- Gives up the oldest push of a full queue, but not one that may be in flight, and no `end`. The app's list of dead
-- letters is on another slot, so the worker of the name's next retries lists the pushes in dl:unlisted.
local function make_room(queue, channel, ps, ws, dls, retention)
    for position = may_give_way(queue, 1, ps) and 3 or 2, pushes_in(queue) do
        local old = id_text(push_at(queue, position))
        if supersede_fields_of(ps .. old).event ~= 'end' then
            if end_entry(ps .. old, ws .. old, 'failed', 'TooManyWaiting', platform_of(queue)) then
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
