-- Commits one publish on its name's slot: sequence number, timestamp, record, entry in the name's queue, superseding.
-- KEYS[1] n: name meta, hash
-- KEYS[2] q: the name's unswept pushes, zset by sequence number
-- KEYS[3] p: this push, hash
-- KEYS[4] b: the registry's bucket 0, hash
-- ARGV[1] push id
-- ARGV[2] time of acceptance, ms; '' = Redis's own time
-- ARGV[3] event
-- ARGV[4] priority
-- ARGV[5] audience, encoded; `*` = everyone
-- ARGV[6] timestamp (s) from the publisher, or ''
-- ARGV[7] payload
-- ARGV[8] offset of the timestamp's ten digits in the payload
-- ARGV[9] 1: supersedable; 0: not
-- ARGV[10] expiry (s), or ''
-- ARGV[11] ms for which a push without an expiry is tried
-- ARGV[12] retention, ms
-- ARGV[13] common prefix of the p keys
-- ARGV[14] most unswept pushes of one name
-- ARGV[15] 1: the queues are full, so only a push that supersedes another is accepted
-- ARGV[16] 1: the push goes out at priority 5 once the name's budget of priority 10 is used up
-- ARGV[17] attributes type of a start, or ''
-- ARGV[18] 1: the start also goes to channels that already follow the name
-- ARGV[19] of an automatic end: the latest start (ms) of the cards that it ends; else ''
-- ARGV[20] 1: stateless
-- ARGV[21] 1: for the broadcast channel alone, because the payload is too large for tokens
-- ARGV[22] common prefix of the w keys
-- Returns one of these. Only 'ok' writes anything, except that 'nameFull' may set `firm`.
--   {'ok', sequence, timestamp, wake}: committed. An id that is already committed gets the same answer again.
--     wake 1: the caller must add an entry for the name to a stream.
--     wake 2: the same, although another push was waiting.
--     wake 0: the name has an entry, or gets one when the active push is swept.
--   {'behind', last timestamp}: the publisher's timestamp is older than the name's last one.
--   {'closed'}: the name is closed.
--   {'nameFull'}: the name has too many unswept pushes.
--   {'queuesFull'}: the queues are full (ARGV[15] is 1) and the push supersedes none.
-- Keys found in data: docs/keyspace.md.
-- Atomic.
-- A stateless push supersedes nothing. An automatic end is stateless and does not close the name, because it is for some
-- cards only.
local id, event, supersedable = ARGV[1], ARGV[3], ARGV[9]
local n, q, p = KEYS[1], KEYS[2], KEYS[3]
local isAutomatic = (ARGV[19] or '') ~= ''
local known = redis.call('HMGET', p, 'seq', 'ts', 'state')
-- This id is committed already. The earlier caller may have died before it added the entry, so this one must add it.
if known[1] then return {'ok', tonumber(known[1]), tonumber(known[2]), known[3] == 'queued' and 2 or 0} end

-- One clock decides the order and the timestamps that devices compare, because the gateways' clocks may differ by
-- minutes.
local now = tonumber(ARGV[2]) or redis_now()
local stamp = string.format('%.0f', now)

local meta = redis.call('HMGET', n, 'ts', 'ended', 'active', 'woken', 'seq', 'firm')
local last, active = tonumber(meta[1] or '0'), meta[3]
-- A closed name accepts an `end` as long as it has tokens, so that those cards can be ended again.
local function can_end() return event == 'end' and has_tokens(redis.call('HGETALL', KEYS[4])) end
if meta[2] and event ~= 'start' and not isAutomatic and not can_end() then return {'closed'} end
local ts = ARGV[6] ~= '' and tonumber(ARGV[6]) or math.max(math.floor(now / 1000), last)
if ts < last then return {'behind', last} end

-- Refuse without reading each waiting push if nothing can be superseded. That is so if this push supersedes nothing, or
-- if no waiting push is supersedable. An earlier refusal notes the second case: `firm` is then the name's `seq`, and
-- differs from it once another push is accepted.
local supersedesNothing = event == 'start' or isAutomatic or ARGV[20] == '1' or ARGV[21] == '1'
local isFull = redis.call('ZCARD', q) >= tonumber(ARGV[14])
if isFull and (supersedesNothing or meta[6] and meta[6] == meta[5]) then return {'nameFull'} end
-- The deadline is fixed here, so that all readers agree. Expiry 0 means: try once.
local expiry = tonumber(ARGV[10]) or 0
local deadline = string.format('%.0f', expiry > 0 and expiry * 1000 or now + ARGV[11])
local this = {supersedable, event, ARGV[20], deadline, ARGV[10], stamp}
local waiting = redis.call('ZRANGE', q, 0, -1)
local superseded, someNotSupersedable, noneSupersedable =
    superseded_by(this, ARGV[5], waiting, active, ARGV[21] ~= '1', ARGV[13], ARGV[22])
if #waiting - #superseded >= tonumber(ARGV[14]) then
    -- The write fails if Redis is out of memory. The next refusal then reads each waiting push again.
    if noneSupersedable and meta[5] then redis.pcall('HSET', n, 'firm', meta[5]) end
    return {'nameFull'}
end
if ARGV[15] == '1' and #superseded == 0 then return {'queuesFull'} end
for _, old in ipairs(superseded) do supersede(ARGV[13] .. old, ARGV[22] .. old, q, old, id, stamp) end
local wakes, woken = wake_up(meta[4], #waiting, active, supersedable == '1' or someNotSupersedable, ARGV[4], now)

local seq = redis.call('HINCRBY', n, 'seq', 1)
local digits = string.format('%.0f', ts)
local offset = tonumber(ARGV[8])
local payload = string.sub(ARGV[7], 1, offset) .. digits .. string.sub(ARGV[7], offset + 11)
redis.call('HSET', p, 'seq', seq, 'ts', digits, 'event', event, 'prio', ARGV[4], 'aud', ARGV[5], 'sup', supersedable,
    'expiry', ARGV[10], 'until', deadline, 'created', stamp, 'state', 'queued', 'payload', payload,
    'soft', ARGV[16], 'bare', ARGV[20])
if event == 'start' then
    redis.call('HSET', p, 'type', ARGV[17], 'restart', ARGV[18])
    -- A start opens the name: pushes after it are for the cards that it creates.
    open_name(n)
end
if isAutomatic then redis.call('HSET', p, 'cutoff', ARGV[19]) end
redis.call('PEXPIRE', p, ARGV[12])
redis.call('ZADD', q, seq, id)
redis.call('PEXPIRE', q, ARGV[12])
redis.call('HSET', n, 'last', id, 'woken', woken)
-- A publisher's timestamps need not be newer than an automatic end's.
if not isAutomatic then redis.call('HSET', n, 'ts', digits) end
if event == 'end' and not isAutomatic then redis.call('HSET', n, 'ending', stamp) end
-- From now on, older starts do not go out. A started channel whose token comes later gets this end.
if ARGV[5] == '*' and event == 'end' and not isAutomatic then
    redis.call('HSET', p, 'closes', n)
    close_name(n, seq, stamp, id)
end
redis.call('PEXPIRE', n, ARGV[12])
return {'ok', seq, ts, wakes and (#waiting == 0 and 1 or 2) or 0}
