-- Commits one publish on its name's slot: sequence number, timestamp, record, entry in the name's queue, superseding.
-- uses constants, time, greater
-- keys n, q: name meta, hash; the name's unswept pushes, zset by sequence number
-- keys p, b: this push, hash; the registry's bucket 0, hash
-- keys k, o, bc, bt, v, h, x, e, y, f, out: as in push-begin; late joiners, hash; the outbox, list
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
-- arguments stream, open, name: the stream of the push's entry; the app's names with work, zset by time (ms); the name.
--   In a cluster the first two are '', because they are on another slot
-- argument hand: '' or, if a lone push may begin in this step, numbers of push-begin: `<interval> <length> <mostHigh>`
-- rest: of a push with a condition: the id of the push that has to be the name's newest one, or 'none'
-- Returns one of these. Only 'ok' writes anything, except that 'nameFull' may set `firm`.
--   {'ok', sequence, timestamp, wake, followed, ids, created}: committed. ids: the pushes that it superseded, if any. An
--     id that is already committed gets the same answer again, with the time of its acceptance (ms) and without ids.
--     wake 1: the caller must add an entry for the name to a stream. Only without `stream`.
--     wake 2: the same, although another push was waiting.
--     wake 0: the name has an entry, or gets one when the active push is swept.
--     followed 1: a channel follows the name. 0 or absent: unknown.
--   {'behind', last timestamp}: the publisher's timestamp is older than the name's last one.
--   {'closed'}: the name is closed.
--   {'nameFull'}: the name has too many unswept pushes.
--   {'queuesFull'}: the queues are full, and the push supersedes none.
--   {'conflict', id}: the condition does not hold, because this push is the newest one; '' = the name has none.
-- Keys found in data: docs/keyspace.md.

-- A stateless push supersedes nothing. An automatic end is stateless and does not close the name: it is for some cards.
local isAutomatic = cutoff ~= ''
local supersedable, stateless, broadcastOnly, soft, restart, queuesFull, asks, tells, traced, by =
    string.match(flags, '(.)(.)(.)(.)(.)(.)(.)(.)(.)(.*)')
-- One clock decides the order and the timestamps, because the gateways' clocks may differ by minutes.
local now = tonumber(at) or redis_now()
local lastTimestamp, ended, active, woken, lastSeq, kept, last, lone, top, begun, begunID, newest, before, paced =
    unpack(redis.call('HMGET', n, 'ts', 'ended', 'active', 'woken', 'seq', 'kept', 'last', 'lone', 'top',
        'begun', 'begun_id', 'newest', 'before', 'paced'))
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
local content = string.sub(payload, 1, offset) .. digits .. string.sub(payload, offset + 11)

-- The usual case: an update for everyone, to an open name without other unswept pushes, becomes a lone push.
local isPlain = event == 'update' and audience == '*' and stateless == '0' and broadcastOnly == '0'
    and traced == '0' and queuesFull == '0' and not string.find(by, '\n', 1, true)
local mayBeLone = isPlain and not (ended or active or lone) and ts >= lastTimestamp
-- One look tells of most pushes that none of the keys is there.
local isQuiet = mayBeLone and hand ~= '' and redis.call('EXISTS', p, q, k, o, bc, bt, v, h, x, e, y, f, out) == 0
mayBeLone = isQuiet or mayBeLone and redis.call('EXISTS', p, q) == 0
-- uses accept-lone
local after = ARGV[rest]
if mayBeLone and isNew and not after then return commit_lone() end
-- uses lone, kept, holders, supersede-unswept, waking
if lone then
    unpack_lone(n)
    active = redis.call('HGET', n, 'active')
end
-- This id is committed already. The earlier caller may have died before it added the entry, so this one must add it.
local knownSeq, knownTimestamp, state, created = unpack(redis.call('HMGET', p, 'seq', 'ts', 'state', 'created'))
if knownSeq then
    return {'ok', tonumber(knownSeq), tonumber(knownTimestamp), add_entry(state == 'queued' and 2 or 0), 0, '', tonumber(created)}
end
local known = kept_push(p)
if known then return {'ok', tonumber(known.seq), tonumber(known.ts), 0, 0, '', tonumber(known.created)} end
-- uses accept-condition
if mayBeLone then return commit_lone() end
local waits = redis.call('ZCARD', q)
-- uses accept-queue

-- A closed name accepts an `end` as long as it has tokens, so that those cards can be ended again.
local function can_end() return event == 'end' and has_tokens(redis.call('HGETALL', b)) end
if ended and event ~= 'start' and not isAutomatic and not can_end() then return {'closed'} end
if ts < lastTimestamp then return {'behind', lastTimestamp} end

-- Refuse without reading the waiting pushes if this push supersedes nothing, or if no waiting push is supersedable. An
-- earlier refusal notes the second case: `firm` is the name's `seq` until another push is accepted.
local supersedes = event ~= 'start' and not isAutomatic and stateless ~= '1' and broadcastOnly ~= '1'
if waits >= tonumber(mostUnswept)
    and (not supersedes or lastSeq and redis.call('HGET', n, 'firm') == lastSeq) then return {'nameFull'} end
local superseded, someNotSupersedable, noneSupersedable, withTasks =
    superseded_by(redis.call('ZRANGE', q, 0, -1), active, supersedes and audience, lives, reaches_silent(content), ps, ws)
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
local answer = {'ok', tonumber(seq), ts, add_entry(wakes and (waits == 0 and 1 or 2) or 0), followed()}
if superseded[1] then answer[6] = table.concat(superseded, ' ') end
if event == 'update' and not next(withTasks) and (tells ~= '1' or not superseded[1]) then return answer end
-- uses accept-effects
end_superseded()
if event == 'start' then note_start() end
if isAutomatic then redis.call('HSET', p, 'cutoff', cutoff) elseif event == 'end' then note_end_of_cards() end
return answer
