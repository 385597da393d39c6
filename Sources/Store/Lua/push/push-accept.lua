-- Commits one publish on its name's slot: sequence number, timestamp, record, entry in the name's queue, superseding.
-- keys n, q: name meta, hash; the name's unswept pushes, zset by sequence number
-- keys p, b: this push, hash; the registry's bucket 0, hash
-- arguments id, event, priority: of the push
-- argument audience: encoded; `*` = everyone
-- argument at: time of acceptance, ms; '' = Redis's own time
-- argument timestamp: from the publisher, s, or ''
-- arguments payload, offset: `offset` is where the timestamp's ten digits begin
-- argument flags: seven digits, each 1 or 0, and an eighth only for a push that is traced:
--   supersedable, stateless; for the broadcast channel alone, because the payload is too large for tokens;
--   soft: at priority 5 once the name's budget of priority 10 is used up; a start also goes to channels that already
--   follow the name; the queues are full, so only a push that supersedes another is accepted; asks: the caller does
--   not know whether a channel follows the name
-- arguments expiry, life: expiry (s) or ''; ms for which a push without an expiry is tried
-- argument attributesType: of a start
-- argument cutoff: of an automatic end: the latest start (ms) of the cards that it ends; else ''
-- argument mostUnswept: most unswept pushes of one name
-- arguments retention, ps, ws: how long the data is kept, ms; common prefixes of the p and w keys
-- Returns one of these. Only 'ok' writes anything, except that 'nameFull' may set `firm`.
--   {'ok', sequence, timestamp, wake, followed}: committed. An id that is already committed gets the same answer again.
--     wake 1: the caller must add an entry for the name to a stream.
--     wake 2: the same, although another push was waiting.
--     wake 0: the name has an entry, or gets one when the active push is swept.
--     followed 1: a channel follows the name. 0 or absent: unknown.
--   {'behind', last timestamp}: the publisher's timestamp is older than the name's last one.
--   {'closed'}: the name is closed.
--   {'nameFull'}: the name has too many unswept pushes.
--   {'queuesFull'}: the queues are full, and the push supersedes none.
-- Keys found in data: docs/keyspace.md.

-- This id is committed already. The earlier caller may have died before it added the entry, so this one must add it.
local knownSeq, knownTimestamp, state = unpack(redis.call('HMGET', p, 'seq', 'ts', 'state'))
if knownSeq then return {'ok', tonumber(knownSeq), tonumber(knownTimestamp), state == 'queued' and 2 or 0} end

-- A stateless push supersedes nothing. An automatic end is stateless and does not close the name: it is for some cards.
local isAutomatic = cutoff ~= ''
local supersedable, stateless, broadcastOnly, soft, restart, queuesFull, asks =
    string.match(flags, '(.)(.)(.)(.)(.)(.)(.)')
-- One clock decides the order and the timestamps, because the gateways' clocks may differ by minutes.
local now = tonumber(at) or redis_now()
local stamp = string.format('%.0f', now)
local lastTimestamp, ended, active, woken, lastSeq, firm, kept, last =
    unpack(redis.call('HMGET', n, 'ts', 'ended', 'active', 'woken', 'seq', 'firm', 'kept', 'last'))
lastTimestamp = tonumber(lastTimestamp or '0')
local ts = timestamp ~= '' and tonumber(timestamp) or math.max(math.floor(now / 1000), lastTimestamp)
local digits = string.format('%.0f', ts)
-- The deadline is fixed here, so that all readers agree. Expiry 0 means: try once.
local seconds = tonumber(expiry) or 0
local deadline = string.format('%.0f', seconds > 0 and seconds * 1000 or now + life)

-- Writes the push into the name's queue and returns its sequence number. wakes: the name's new `woken`
local function commit(wakes)
    local seq = redis.call('HINCRBY', n, 'seq', 1)
    local record = {'seq', seq, 'ts', digits, 'event', event, 'prio', priority, 'aud', audience, 'until', deadline,
        'created', stamp, 'state', 'queued',
        'payload', string.sub(payload, 1, offset) .. digits .. string.sub(payload, offset + 11)}
    local function set(field, value) record[#record + 1], record[#record + 2] = field, value end
    if supersedable == '1' then set('sup', 1) end
    if expiry ~= '' then set('expiry', expiry) end
    if soft == '1' then set('soft', 1) end
    if stateless == '1' then set('bare', 1) end
    if #flags > 7 then set('trace', 1) end
    if last then set('prev', last) end
    redis.call('HSET', p, unpack(record))
    redis.call('PEXPIRE', p, retention)
    redis.call('ZADD', q, seq, id)
    redis.call('PEXPIRE', q, retention)
    local fields = {'last', id, 'woken', wakes}
    -- A publisher's timestamps need not be newer than an automatic end's.
    if not isAutomatic then fields[5], fields[6] = 'ts', digits end
    -- The name lives longer than its pushes, so that most publishes need not prolong its life.
    local nameLife = retention + NAME_SLACK
    local renews = not kept or now + retention > tonumber(kept) or tonumber(kept) > now + nameLife + NAME_SLACK
    if renews then fields[#fields + 1], fields[#fields + 2] = 'kept', string.format('%.0f', now + nameLife) end
    redis.call('HSET', n, unpack(fields))
    if renews then redis.call('PEXPIRE', n, string.format('%.0f', nameLife)) end
    return seq
end
-- The usual case: no push waits, and this update neither closes nor opens the name.
if event == 'update' and not ended and ts >= lastTimestamp and queuesFull == '0' and redis.call('ZCARD', q) == 0 then
    local token = asks == '1' and redis.pcall('HRANDFIELD', b, 1, 'WITHVALUES')[2]
    -- A tombstone is odd.
    local followed = token and (string.byte(token) or 1) % 2 == 0
    return {'ok', commit(stamp .. ' 0 ' .. priority), ts, 1, followed and 1 or 0}
end
-- (rules)
-- A closed name accepts an `end` as long as it has tokens, so that those cards can be ended again.
local function can_end() return event == 'end' and has_tokens(redis.call('HGETALL', b)) end
if ended and event ~= 'start' and not isAutomatic and not can_end() then return {'closed'} end
if ts < lastTimestamp then return {'behind', lastTimestamp} end

-- Refuse without reading the waiting pushes if this push supersedes nothing, or if no waiting push is supersedable. An
-- earlier refusal notes the second case: `firm` is the name's `seq` until another push is accepted.
local supersedesNothing = event == 'start' or isAutomatic or stateless == '1' or broadcastOnly == '1'
local isFull = redis.call('ZCARD', q) >= tonumber(mostUnswept)
if isFull and (supersedesNothing or firm and firm == lastSeq) then return {'nameFull'} end
local this = supersede_fields({supersedable, event, stateless, deadline, expiry, stamp, audience})
local waiting = redis.call('ZRANGE', q, 0, -1)
local superseded, someNotSupersedable, noneSupersedable =
    superseded_by(this, waiting, active, broadcastOnly ~= '1', ps, ws)
if #waiting - #superseded >= tonumber(mostUnswept) then
    -- The write fails if Redis is out of memory. The next refusal then reads each waiting push again.
    if noneSupersedable and lastSeq then redis.pcall('HSET', n, 'firm', lastSeq) end
    return {'nameFull'}
end
if queuesFull == '1' and #superseded == 0 then return {'queuesFull'} end
for _, old in ipairs(superseded) do supersede(ps .. old, ws .. old, q, old, id, stamp) end
local wakes, wokenNow = wake_up(woken, #waiting, active, supersedable == '1' or someNotSupersedable, priority, now)

local seq = commit(wokenNow)
if event == 'start' then
    redis.call('HSET', p, 'type', attributesType, 'restart', restart)
    -- A start opens the name: pushes after it are for the cards that it creates.
    open_name(n)
end
if isAutomatic then redis.call('HSET', p, 'cutoff', cutoff) end
if event == 'end' and not isAutomatic then redis.call('HSET', n, 'ending', stamp) end
-- From now on, older starts do not go out. A started channel whose token comes later gets this end.
if audience == '*' and event == 'end' and not isAutomatic then
    redis.call('HSET', p, 'closes', n)
    close_name(n, seq, stamp, id)
end
return {'ok', seq, ts, wakes and (#waiting == 0 and 1 or 2) or 0}
