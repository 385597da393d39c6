-- Fragment for late-put: a late joiner's retry queue with one more push.
-- name: the name as late-put knows it. Its fields: ps, ws, dls prefixes; retention
-- uses queue-late, supersede-queued

-- Takes pushes out of the end of a queue that are not older than `seq` and were withdrawn. Returns the queue, or nil if
-- its last push stands or may stand.
local function without_withdrawn(name, queue, channel, seq)
    while has_pushes(queue) do
        local last = id_text(last_of(queue))
        if (tonumber(redis.call('HGET', name.ps .. last, 'seq')) or 0) < seq then break end
        if stands(name.ps .. last) then return nil end
        if not end_entry(name.ps .. last, name.ws .. last, 'superseded', '', platform_of(queue)) then
            keep_stopped(name.ps .. last, name.dls .. last, channel)
        end
        queue = without(queue, pushes_in(queue))
    end
    return queue
end

-- Returns the channel's retry queue with the push at its end, and whether the queue is new. Nil if its last push is not
-- older. All pushes of the queue were swept before the card began, so none shows its alert. platform: of the channel
local function late_queue(name, before, channel, raw, seq, platform)
    local queue = without_withdrawn(name, before, channel, seq)
    if before and not queue then return nil end
    if not has_pushes(queue) then
        return (queue and header(0, registrations_of(queue), 1) or header(0, 0, 1, platform)) .. raw, true
    end
    local rest = supersede_last(queue, supersede_fields_of(name.ps .. id_text(raw)), name.ps, name.ws)
    if is_full(rest) then rest = make_room(rest, channel, name.ps, name.ws, name.dls, name.retention) end
    local all = without_alerts(rest .. raw)
    -- If the push goes out next, it has attempts of its own: those so far were another push's, at the card before.
    local isNext = pushes_in(all) == 2 and may_give_way(all, 1, name.ps)
    return isNext and with_header(all, 0, registrations_of(all)) or all, false
end
