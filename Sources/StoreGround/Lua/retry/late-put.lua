-- Queues a push for late joiners, with the content state that they missed, or drops them.
-- uses time, lone, kept, late-queue
-- key n: name meta, hash
-- key f: late joiners, hash
-- key h: retry queues, hash
-- key r: waiting channels, zset by due time (ms)
-- argument begun: sequence number of the last begun push when the worker read the states; '' = none
-- argument retention: how long the data is kept, ms
-- arguments ps, ws, dls: common prefixes of the p, w and dl keys
-- rest: fives: channel, its value in f, push (16 bytes) or '' to drop the channel, the push before that one (16 bytes),
--   which goes out if that one is stopped before anybody has it, or '', the code of the channel's platform
-- Returns {'again'}: another push has begun since. Nothing was queued. Read the states again.
--   {'ok', late joiners left, late joiners queued, ids of the pushes that became final}
-- Keys found in data: docs/keyspace.md.
-- A late joiner is handled only while f holds the value that was read, so a repetition does nothing. The channels'
-- queues hold nothing newer that stands: the push began before they came, and none that began since is for them.
unpack_lone(n)
if (redis.call('HGET', n, 'begun') or '') ~= begun then return {'again'} end
local now = string.format('%.0f', redis_now())
local put = 0
local name = {ps = ps, ws = ws, dls = dls, retention = retention}

-- Returns the state of a push, its sequence number, and the last note that its sweep found if it waited again. Each is read
-- once, because most channels get the same push. It stays `sending` or `done`, and a stopped one stays stopped.
local known = {}
local function look(id)
    local function read() known[id] = redis.call('HMGET', ps .. id, 'state', 'seq', 'notes') end
    if not known[id] then read() end
    if not known[id][1] and unpack_kept(ps .. id) then read() end
    local state, seq, notes = unpack(known[id])
    return state, tonumber(seq), tonumber(notes or -1)
end

-- Whether a stopped or cancelled update goes to late joiners, because other cards show it.
local function goes_on(p, state)
    local isStopped = state == 'cancelled' or state == 'failed' or state == 'superseded'
    return isStopped and standing(p) == 'yes' and supersede_fields_of(p).event == 'update'
end

-- Queues such an update. It stays stopped, and goes out because the queue says that it goes without its alert. Until it is
-- delivered, the channel counts as the others that it did not reach. Returns how many channels were queued.
local function put_stopped(id, state, before, channel, platform, raw, seq)
    local p = ps .. id
    -- The channel waited for it when it was stopped, so it is counted.
    local waits = has_pushes(before) and last_of(before) == raw
    local queue, isNew
    if waits then
        queue = without_alerts(before)
    else
        queue, isNew = late_queue(name, before, channel, raw, seq, platform)
    end
    if not queue then return 0 end
    if not waits then
        count(p, 'targets', 1, platform)
        count_stopped(p, dls .. id, channel, state, redis.call('HGET', p, 'stopped'), platform)
    end
    count(p, 'late', 1)
    store_late_queue(h, r, channel, queue, isNew, now, retention)
    return 1
end

-- Queues a push for the channel. Returns how many channels were queued.
local function put_push(channel, platform, raw)
    local id, before = id_text(raw), redis.call('HGET', h, channel)
    local state, seq = look(id)
    if state == 'sending' or state == 'done' then
        local queue, isNew = late_queue(name, before, channel, raw, seq, platform)
        if not queue then return 0 end
        queue_late_joiner(ps .. id, ws .. id, h, r, channel, platform, queue, isNew, now, retention)
        return 1
    end
    return state and goes_on(ps .. id, state) and put_stopped(id, state, before, channel, platform, raw, seq) or 0
end

-- Puts `older` before the push for which the channel waits already.
local function put_before(channel, platform, queue, raw, older)
    local id, attempts = id_text(older), read_header(queue)
    local state, seq = look(id)
    local rest = late_queue(name, without(queue, pushes_in(queue)), channel, older, seq, platform)
    if not rest or not attempts or state ~= 'done' and state ~= 'sending' then return 0 end
    -- The channel was in the push's sweep, so that push has its alert. Its due time stays.
    rest = with_header(rest, attempts, registrations_of(queue)) .. raw
    queue_late_joiner(ps .. id, ws .. id, h, r, channel, platform, rest, false, now, retention)
    return 1
end

-- Carries out a decision. value: the channel's note, see registry-set
local function decide(channel, platform, value, raw, older)
    if older == '' then return put_push(channel, platform, raw) end
    local queue, p = redis.call('HGET', h, channel), ps .. id_text(raw)
    local state, seq, notes = look(id_text(raw))
    local upTo, number = string.match(value, '^(%d+) %d+ n?(%d*)')
    local isSwept = seq and (seq > tonumber(upTo or 0) or (tonumber(number) or math.huge) <= notes)
    local hasOlder = look(id_text(older)) and standing(p) == 'open'
        and may_supersede(supersede_fields_of(p), supersede_fields_of(ps .. id_text(older)))
    if isSwept and (state == 'sending' or state == 'done') then
        -- The push's own sweep had the channel.
        local waits = has_pushes(queue) and last_of(queue) == raw
        return hasOlder and waits and put_before(channel, platform, queue, raw, older) or 0
    end
    if hasOlder then put_push(channel, platform, older) end
    return put_push(channel, platform, raw)
end

for i = rest, #ARGV, 5 do
    local channel, value, raw, older, platform = unpack(ARGV, i, i + 4)
    if redis.call('HGET', f, channel) == value then
        redis.call('HDEL', f, channel)
        if raw ~= '' then put = put + decide(channel, tonumber(platform), value, raw, older) end
    end
end
write_entries(now, retention)
return {'ok', redis.call('HLEN', f), put, table.concat(finalPushes, ' ')}
