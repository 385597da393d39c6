-- Commits one publish on its name's slot: sequence number, timestamp, record, entry in the name's queue, superseding.
-- uses constants, time
-- keys n, q: name meta, hash; the name's unswept pushes, zset by sequence number
-- keys p, b: this push, hash; the registry's bucket 0, hash
-- arguments id, event, priority: of the push
-- argument audience: encoded; `*` = everyone
-- argument at: time of acceptance, ms; '' = Redis's own time
-- argument timestamp: from the publisher, s, or ''
-- arguments payload, offset: `offset` is where the timestamp's ten digits begin
-- argument flags: nine digits, each 1 or 0 but the fifth, then who published, in words, or nothing:
--   supersedable, stateless; for the broadcast channel alone, because the payload is too large for tokens;
--   soft: at priority 5 once the name's budget of priority 10 is used up; of a start: 1 if it also goes to channels
--   that already follow the name, and 2 more if it respects dismissals; the queues are full, so only a push that
--   supersedes another is accepted; asks: the caller does not know whether a channel follows the name; tells: an
--   outgoing event tells that the push is final; traced: one channel's exchange with APNs is kept
-- arguments expiry, life: expiry (s) or ''; ms for which a push without an expiry is tried
-- arguments attributesType, stale: of a start; its stale date (s), or ''
-- argument traceparent: the span that accepts it, or ''
-- argument cutoff: of an automatic end: the latest start (ms) of the cards that it ends; else ''
-- argument mostUnswept: most unswept pushes of one name
-- arguments retention, ps, ws: how long the data is kept, ms; common prefixes of the p and w keys
-- Returns one of these. Only 'ok' writes anything, except that 'nameFull' may set `firm`.
--   {'ok', sequence, timestamp, wake, followed, ids, created}: committed. ids: the pushes that it superseded, if any. An
--     id that is already committed gets the same answer again, with the time of its acceptance (ms) and without ids.
--     wake 1: the caller must add an entry for the name to a stream.
--     wake 2: the same, although another push was waiting.
--     wake 0: the name has an entry, or gets one when the active push is swept.
--     followed 1: a channel follows the name. 0 or absent: unknown.
--   {'behind', last timestamp}: the publisher's timestamp is older than the name's last one.
--   {'closed'}: the name is closed.
--   {'nameFull'}: the name has too many unswept pushes.
--   {'queuesFull'}: the queues are full, and the push supersedes none.
-- Keys found in data: docs/keyspace.md.

-- A stateless push supersedes nothing. An automatic end is stateless and does not close the name: it is for some cards.
local isAutomatic = cutoff ~= ''
local supersedable, stateless, broadcastOnly, soft, restart, queuesFull, asks, tells, traced, by =
    string.match(flags, '(.)(.)(.)(.)(.)(.)(.)(.)(.)(.*)')
-- One clock decides the order and the timestamps, because the gateways' clocks may differ by minutes.
local now = tonumber(at) or redis_now()
-- Compares ids by their bytes. A comparison of strings would follow the server's locale.
local function is_greater(one, other)
    local at = 1
    while at < #one and string.byte(one, at) == string.byte(other, at) do at = at + 1 end
    return (string.byte(one, at) or 0) > (string.byte(other, at) or 0)
end
local lastTimestamp, ended, active, woken, lastSeq, kept, last, lone, top =
    unpack(redis.call('HMGET', n, 'ts', 'ended', 'active', 'woken', 'seq', 'kept', 'last', 'lone', 'top'))
lastTimestamp = tonumber(lastTimestamp) or 0
local ts = tonumber(timestamp) or math.max(math.floor(now / 1000), lastTimestamp)
-- The deadline is fixed here, so that all readers agree. Expiry 0 means: try once.
local seconds = tonumber(expiry) or 0
local deadline = seconds > 0 and seconds * 1000 or now + life
-- A device makes no card of a start that is stale already.
if stale ~= '' then deadline = math.min(deadline, stale * 1000) end
-- Until when the push is tried (ms), see lives_until.
local lives = expiry == '0' and now or deadline
-- Numbers go to Redis as text, because it converts a number much more slowly than %d does.
local seq = string.format('%d', (tonumber(lastSeq) or 0) + 1)
local stamp, digits = string.format('%d', now), string.format('%d', ts)
-- The greatest id of the name: its last push's, or `top` while that is greater. An id above it was never committed.
local greatest = top and is_greater(top, last) and top or last
local isNew = not last or is_greater(id, greatest)

-- The name's fields after this push, and its new life (ms) if that is to be prolonged: it lives longer than its pushes,
-- so that most publishes need not do that. wakes: the new `woken`
local function name_fields(wakes)
    local nameLife = retention + NAME_SLACK
    local renews = not kept or now + retention > tonumber(kept) or tonumber(kept) > now + nameLife + NAME_SLACK
    -- A publisher's timestamps need not be newer than an automatic end's.
    local fields = {'seq', seq, 'last', id, 'woken', wakes,
        not isAutomatic and 'ts' or nil, not isAutomatic and digits or nil}
    if renews then fields[#fields + 1], fields[#fields + 2] = 'kept', string.format('%d', now + nameLife) end
    if not isNew then fields[#fields + 1], fields[#fields + 2] = 'top', greatest end
    return fields, renews and string.format('%d', nameLife)
end
local content = string.sub(payload, 1, offset) .. digits .. string.sub(payload, offset + 11)
-- Looks at one token of the name: 1 if its channel follows. 0: unknown. A tombstone is odd.
local function followed()
    local token = asks == '1' and redis.pcall('HRANDFIELD', b, 1, 'WITHVALUES')[2]
    return token and (string.byte(token) or 1) % 2 == 0 and 1 or 0
end


-- The usual case: an update for everyone, to an open name without other unswept pushes, becomes a lone push.
local isPlain = event == 'update' and audience == '*' and stateless == '0' and broadcastOnly == '0'
    and traced == '0' and queuesFull == '0' and not string.find(by, '\n', 1, true)
local mayBeLone = isPlain and not (ended or active or lone) and ts >= lastTimestamp
    and redis.call('EXISTS', p, q) == 0
local function commit_lone()
    local fields, nameLife = name_fields(stamp .. ' 0 ' .. priority)
    fields[#fields + 1] = 'lone'
    -- One concatenation costs a third of a format with as many parts.
    fields[#fields + 1] = id .. ' ' .. seq .. ' ' .. digits .. ' ' .. priority .. ' ' .. string.format('%d', deadline) .. ' '
        .. stamp .. ' ' .. retention .. ' ' .. (supersedable == '1' and string.format('%d', lives) or '-') .. ' '
        .. (expiry ~= '' and expiry or '-') .. ' ' .. (soft == '1' and '1' or '-') .. ' ' .. (last or '-') .. ' '
        .. (tells == '1' and '1' or '-') .. ' ' .. (traceparent ~= '' and traceparent or '-') .. '\n' .. by .. '\n' .. content
    redis.call('HSET', n, unpack(fields))
    if nameLife then redis.call('PEXPIRE', n, nameLife) end
    return {'ok', tonumber(seq), ts, 1, followed()}
end
if mayBeLone and isNew then return commit_lone() end
-- uses lone, kept, holders, supersede-unswept, waking
if lone then
    unpack_lone(n)
    active = redis.call('HGET', n, 'active')
end
-- This id is committed already. The earlier caller may have died before it added the entry, so this one must add it.
local knownSeq, knownTimestamp, state, created = unpack(redis.call('HMGET', p, 'seq', 'ts', 'state', 'created'))
if knownSeq then
    return {'ok', tonumber(knownSeq), tonumber(knownTimestamp), state == 'queued' and 2 or 0, 0, '', tonumber(created)}
end
local known = kept_push(p)
if known then return {'ok', tonumber(known.seq), tonumber(known.ts), 0, 0, '', tonumber(known.created)} end
if mayBeLone then return commit_lone() end
local waits = redis.call('ZCARD', q)

-- Writes the push into the name's queue. wakes: the name's new `woken`. replaced: ids of the pushes that it supersedes,
-- which a cancel before it begins brings back. Nil: none, or only the name's last push
local function commit(wakes, replaced)
    local record = {'seq', seq, 'ts', digits, 'event', event, 'prio', priority, 'aud', audience,
        'until', string.format('%d', deadline), 'created', stamp, 'state', 'queued', 'payload', content}
    local function set(field, value) record[#record + 1], record[#record + 2] = field, value end
    if supersedable == '1' then set('sup', string.format('%d', lives)) end
    if expiry ~= '' then set('expiry', expiry) end
    if soft == '1' then set('soft', '1') end
    if stateless == '1' then set('bare', '1') end
    if replaced then set('replaced', table.concat(replaced, ' ')) end
    if traced == '1' then set('trace', '1') end
    if last then set('prev', last) end
    if tells == '1' then set('tell', '1') end
    if by ~= '' then set('by', by) end
    if traceparent ~= '' then set('tp', traceparent) end
    redis.call('HSET', p, unpack(record))
    redis.call('PEXPIRE', p, retention)
    redis.call('ZADD', q, seq, id)
    local fields, nameLife = name_fields(wakes)
    redis.call('HSET', n, unpack(fields))
    if nameLife then redis.call('PEXPIRE', n, nameLife) end
    if nameLife or waits == 0 then redis.call('PEXPIRE', q, string.format('%d', retention + NAME_SLACK)) end
end
-- A closed name accepts an `end` as long as it has tokens, so that those cards can be ended again.
local function can_end() return event == 'end' and has_tokens(redis.call('HGETALL', b)) end
if ended and event ~= 'start' and not isAutomatic and not can_end() then return {'closed'} end
if ts < lastTimestamp then return {'behind', lastTimestamp} end

-- Refuse without reading the waiting pushes if this push supersedes nothing, or if no waiting push is supersedable. An
-- earlier refusal notes the second case: `firm` is the name's `seq` until another push is accepted.
local supersedes = event ~= 'start' and not isAutomatic and stateless ~= '1' and broadcastOnly ~= '1'
local isFull = waits >= tonumber(mostUnswept)
if isFull and (not supersedes or lastSeq and redis.call('HGET', n, 'firm') == lastSeq) then return {'nameFull'} end
local superseded, someNotSupersedable, noneSupersedable, withTasks =
    superseded_by(redis.call('ZRANGE', q, 0, -1), active, supersedes and audience, lives, ps, ws)
if waits - #superseded >= tonumber(mostUnswept) then
    -- The write fails if Redis is out of memory. The next refusal then reads each waiting push again.
    if noneSupersedable and lastSeq then redis.pcall('HSET', n, 'firm', lastSeq) end
    return {'nameFull'}
end
if queuesFull == '1' and #superseded == 0 then return {'queuesFull'} end
-- An end is later than each new follower before it, also if the clock was set back since that follower came.
local joined = event == 'end' and redis.call('HGET', n, 'joined')
if joined and tonumber(joined) >= now then stamp = string.format('%d', joined + 1) end
local wakes, wokenNow = wake_up(woken, waits, active, supersedable == '1' or someNotSupersedable, priority, now)
-- A cancel finds the name's last push without `replaced`. This writes first: a full Redis refuses an HSET, but only
-- before a script has written anything, and it does not refuse a ZREM.
commit(wokenNow, superseded[1] and (superseded[2] or superseded[1] ~= last) and superseded)
for _, old in ipairs(superseded) do
    redis.call('ZREM', q, old)
    redis.call('HSET', ps .. old, 'superseded_by', id, 'expanded', '1', 'state', 'superseded', 'finished', stamp)
end
local answer = {'ok', tonumber(seq), ts, wakes and (waits == 0 and 1 or 2) or 0, followed()}
if superseded[1] then answer[6] = table.concat(superseded, ' ') end
if event == 'update' and not next(withTasks) and (tells ~= '1' or not superseded[1]) then return answer end
-- uses endings
for _, old in ipairs(superseded) do
    if withTasks[old] then
        end_push(ps .. old, ws .. old, 'superseded', stamp)
        finish(ps .. old, ws .. old, stamp)
    elseif tells == '1' then
        tell_end(ps .. old, redis.call('HGET', ps .. old, 'tell'), 'superseded', stamp)
    end
end
if event == 'start' then
    redis.call('HSET', p, 'type', attributesType, 'restart', restart)
    -- A start opens the name: pushes after it are for the cards that it creates.
    open_name(n)
end
if isAutomatic then redis.call('HSET', p, 'cutoff', cutoff) end
if event == 'end' and not isAutomatic then
    redis.call('HSET', n, 'ending', stamp)
    if audience ~= '*' then
        -- A card that began later gets nothing from before, if this end is for its channel. The newest first, 8 at most.
        local ends = {string.format('%s:%s:%s', seq, stamp, id)}
        for entry in string.gmatch(redis.call('HGET', n, 'some_ends') or '', '%S+') do
            if #ends < 8 then ends[#ends + 1] = entry end
        end
        redis.call('HSET', n, 'some_ends', table.concat(ends, ' '))
    end
end
-- From now on, older starts do not go out. A started channel whose token comes later gets this end.
if audience == '*' and event == 'end' and not isAutomatic then
    redis.call('HSET', p, 'closes', n)
    close_name(n, seq, stamp, id)
end
return answer
