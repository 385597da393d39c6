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
-- Returns one of these. Only 'ok' writes anything, except that 'full' may set `firm`.
--   {'ok', sequence, timestamp, wake}: committed. An id that is already committed gets the same answer again.
--     wake 1: the caller must add an entry for the name to a stream.
--     wake 2: the same, although another push was waiting.
--     wake 0: the name has an entry, or gets one when the active push is swept.
--   {'behind', last timestamp}: the publisher's timestamp is older than the name's last one.
--   {'ended'}: the name is closed.
--   {'full'}: the name has too many unswept pushes.
--   {'closed'}: ARGV[15] is 1 and the push supersedes none.
-- Atomic. The script reaches the record of a superseded push by its id: its key is not declared but has the same hash
-- tag. If the record is on another node because the slot moves, the read fails and that push stays in the queue, before
-- this one.
-- A stateless push supersedes nothing. Pushes before it keep their place, because its cards show their state. An
-- automatic end is stateless and does not close the name, because it is for some cards only.
local id, sup = ARGV[1], ARGV[9]
local automatic = (ARGV[19] or '') ~= ''
local known = redis.call('HMGET', KEYS[3], 'seq', 'ts', 'state')
-- An earlier caller may have died before it added the entry, so this one is told to add it.
if known[1] then return {'ok', tonumber(known[1]), tonumber(known[2]), known[3] == 'queued' and 2 or 0} end

-- One clock decides the order and the timestamps that devices compare, because the gateways' clocks may differ by
-- minutes.
local now = tonumber(ARGV[2]) or redis_now()
local stamp = string.format('%.0f', now)

local meta = redis.call('HMGET', KEYS[1], 'ts', 'ended', 'active', 'woken', 'seq', 'firm')
local last = tonumber(meta[1] or '0')
-- A closed name accepts an `end` as long as it has tokens, so that those cards can be ended again. A name with several
-- buckets counts as having tokens.
local function has_tokens()
    local values = redis.call('HGETALL', KEYS[4])
    for i = 1, #values, 2 do
        if values[i] == 'n' or (string.byte(values[i + 1]) or 1) % 2 == 0 then return true end
    end
    return false
end
if meta[2] and ARGV[3] ~= 'start' and not automatic and not (ARGV[3] == 'end' and has_tokens()) then return {'ended'} end
local ts = ARGV[6] ~= '' and tonumber(ARGV[6]) or math.max(math.floor(now / 1000), last)
if ts < last then return {'behind', last} end

-- Refuse without a look at each push if nothing can be superseded: either this push supersedes nothing, or no waiting
-- push is supersedable. `firm` equals `seq` in the second case, as long as no push was accepted since.
local replacesNothing = ARGV[3] == 'start' or automatic or ARGV[20] == '1' or ARGV[21] == '1'
local isFull = redis.call('ZCARD', KEYS[2]) >= tonumber(ARGV[14])
if isFull and (replacesNothing or meta[6] and meta[6] == meta[5]) then return {'full'} end
-- The deadline is fixed here, so that all readers agree. Expiry 0 means: try once.
local expiry = tonumber(ARGV[10]) or 0
local deadline = string.format('%.0f', expiry > 0 and expiry * 1000 or now + ARGV[11])
local this = {sup, ARGV[3], ARGV[20], deadline, ARGV[10], stamp}
local pending = redis.call('ZRANGE', KEYS[2], 0, -1)
local replaced, firm, allFirm = {}, false, true
for _, old in ipairs(pending) do
    if old ~= meta[3] then
        local record = redis.pcall('HMGET', ARGV[13] .. old, unpack(standing))
        if record.err or record[1] == '1' then allFirm = false end
        if not record.err and record[3] == '1' then replaced = {} end
        if not record.err and takes_place(this, record) and (ARGV[5] == '*' or record[7] == ARGV[5])
            and ARGV[21] ~= '1' then
            replaced[#replaced + 1] = old
        elseif record.err or record[1] ~= '1' then
            firm = true
        end
    end
end
-- A push can only be superseded if its tasks are on this node too.
for at = #replaced, 1, -1 do
    local tasks = redis.pcall('EXISTS', ARGV[22] .. replaced[at])
    if type(tasks) == 'table' then
        table.remove(replaced, at)
        firm = true
    end
end
if #pending - #replaced >= tonumber(ARGV[14]) then
    -- The write fails where memory is full. The next refusal looks at each push again then.
    if allFirm and meta[5] then redis.pcall('HSET', KEYS[1], 'firm', meta[5]) end
    return {'full'}
end
if ARGV[15] == '1' and #replaced == 0 then return {'closed'} end
for _, old in ipairs(replaced) do
    redis.call('HSET', ARGV[13] .. old, 'superseded_by', id, 'expanded', 1)
    -- A push that an operator retried may have entries in retry queues.
    stop(ARGV[13] .. old, ARGV[22] .. old, 'superseded', stamp)
    redis.call('ZREM', KEYS[2], old)
    finish(ARGV[13] .. old, ARGV[22] .. old, stamp)
end

-- A waiting push has an entry, unless its gateway lost it. So the wake-up is repeated after 5 s, 10 s, … 640 s. The
-- entry is also not enough if it has a lower priority, or if the waiting pushes may be paced and this one may not.
local at, wakes, priority = string.match(meta[4] or '', '^(%d+) (%d+) (%d+)$')
wakes = tonumber(wakes or '0')
local wake = #pending == 0 or not at or now - at >= 5000 * 2 ^ wakes
    or not meta[3] and (tonumber(ARGV[4]) > tonumber(priority) or sup ~= '1' and not firm)
local woken = meta[4]
if wake then
    wakes = #pending > 0 and at and math.min(wakes + 1, 7) or 0
    woken = string.format('%s %d %s', stamp, wakes, ARGV[4])
end

local seq = redis.call('HINCRBY', KEYS[1], 'seq', 1)
local digits = string.format('%.0f', ts)
local offset = tonumber(ARGV[8])
local payload = string.sub(ARGV[7], 1, offset) .. digits .. string.sub(ARGV[7], offset + 11)
redis.call('HSET', KEYS[3], 'seq', seq, 'ts', digits, 'event', ARGV[3], 'prio', ARGV[4], 'aud', ARGV[5], 'sup', sup,
    'expiry', ARGV[10], 'until', deadline, 'created', stamp, 'state', 'queued', 'payload', payload,
    'soft', ARGV[16], 'bare', ARGV[20])
if ARGV[3] == 'start' then
    redis.call('HSET', KEYS[3], 'type', ARGV[17], 'restart', ARGV[18])
    -- A start opens the name: pushes after it are for the cards that it creates.
    open_name(KEYS[1])
end
if automatic then redis.call('HSET', KEYS[3], 'cutoff', ARGV[19]) end
redis.call('PEXPIRE', KEYS[3], ARGV[12])
redis.call('ZADD', KEYS[2], seq, id)
redis.call('PEXPIRE', KEYS[2], ARGV[12])
redis.call('HSET', KEYS[1], 'last', id, 'woken', woken)
-- A publisher's timestamps need not be newer than an automatic end's.
if not automatic then redis.call('HSET', KEYS[1], 'ts', digits) end
if ARGV[3] == 'end' and not automatic then redis.call('HSET', KEYS[1], 'ending', stamp) end
-- From now on, older starts do not go out. A started channel whose token comes later gets this end.
if ARGV[5] == '*' and ARGV[3] == 'end' and not automatic then
    redis.call('HSET', KEYS[3], 'closes', KEYS[1])
    close_name(KEYS[1], seq, stamp, id)
end
redis.call('PEXPIRE', KEYS[1], ARGV[12])
return {'ok', seq, ts, wake and (#pending == 0 and 1 or 2) or 0}
