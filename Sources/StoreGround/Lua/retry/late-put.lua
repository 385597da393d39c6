-- Queues a push for late joiners, with the content state that they missed, or drops them.
-- key n: name meta, hash
-- key f: late joiners, hash
-- key h: retry queues, hash
-- key r: waiting channels, zset by due time (ms)
-- argument begun: sequence number of the last begun push when the worker read the states; '' = none
-- argument retention: how long the data is kept, ms
-- arguments ps, ws, dls: common prefixes of the p, w and dl keys
-- rest: fours: channel, its value in f, push (16 bytes) or '' to drop the channel, the push's sequence number
-- Returns {'again'}: another push has begun since. Nothing was done. Read the states again.
--   {'ok', late joiners left, late joiners queued, ids of the pushes that became final}
-- Keys found in data: docs/keyspace.md.
-- A late joiner is handled only while f holds the value that was read, so a repetition does nothing. The channels'
-- queues hold nothing newer: the push began before they came, and none that began since is for them.
if (redis.call('HGET', n, 'begun') or '') ~= begun then return {'again'} end
unpack_lone(n)
local now = string.format('%.0f', redis_now())
local put = 0

-- Returns the channel's retry queue with the push at its end, and whether the queue is new. Nil if its last push is not
-- older. All pushes of the queue were swept before the card began, so none shows its alert.
local function joined(queue, channel, raw, seq)
    if not has_pushes(queue) then return header(0, 0, 1) .. raw, true end
    local before = redis.call('HGET', ps .. id_text(last_of(queue)), 'seq')
    if (tonumber(before) or 0) >= seq then return nil end
    local rest = supersede_last(queue, supersede_fields_of(ps .. id_text(raw)), ps, ws)
    if is_full(rest) then rest = make_room(rest, channel, ps, ws, dls, retention) end
    local all = without_alerts(rest .. raw)
    -- If the push goes out next, it has attempts of its own: those so far were another push's, at the card before.
    local isNext = pushes_in(all) == 2 and may_give_way(all, 1, ps)
    return isNext and with_header(all, 0, registrations_of(all)) or all, false
end

-- Whether a stopped or cancelled update goes to late joiners, because other cards show it.
local function goes_on(p, state)
    local isStopped = state == 'cancelled' or state == 'failed' or state == 'superseded'
    return isStopped and standing(p) == 'yes' and supersede_fields_of(p).event == 'update'
end

-- Queues such an update. It stays stopped, and goes out because the queue says that it goes without its alert. Until it is
-- delivered, the channel counts as the others that it did not reach. Returns how many channels were queued.
local function put_stopped(id, state, before, channel, raw, seq)
    local p = ps .. id
    -- The channel waited for it when it was stopped, so it is counted.
    local waits = has_pushes(before) and last_of(before) == raw
    local queue, isNew
    if waits then queue = without_alerts(before) else queue, isNew = joined(before, channel, raw, seq) end
    if not queue then return 0 end
    if not waits then
        count(p, 'targets', 1)
        count_stopped(p, dls .. id, channel, state, redis.call('HGET', p, 'stopped'))
    end
    count(p, 'late', 1)
    store_late_queue(h, r, channel, queue, isNew, now, retention)
    return 1
end

for i = rest, #ARGV, 4 do
    local channel, value, raw, seq = ARGV[i], ARGV[i + 1], ARGV[i + 2], tonumber(ARGV[i + 3])
    if redis.call('HGET', f, channel) == value then
        redis.call('HDEL', f, channel)
        local id = raw ~= '' and id_text(raw)
        local state = id and (redis.call('HGET', ps .. id, 'state') or unpack_kept(ps .. id))
        local before = redis.call('HGET', h, channel)
        if state == 'sending' or state == 'done' then
            local queue, isNew = joined(before, channel, raw, seq)
            if queue then
                queue_late_joiner(ps .. id, ws .. id, h, r, channel, queue, isNew, now, retention)
                put = put + 1
            end
        elseif id and goes_on(ps .. id, state) then
            put = put + put_stopped(id, state, before, channel, raw, seq)
        end
    end
end
write_entries(now, retention)
return {'ok', redis.call('HLEN', f), put, table.concat(finalPushes, ' ')}
