-- Commits one publish on its name's slot: sequence number, timestamp, record, place in the name's queue, superseding.
-- KEYS  1 n (name meta, hash)  2 q (the name's unswept pushes, zset by sequence)  3 p (this push, hash)
--       4 b (the registry's bucket 0)
-- ARGV  1 push id  2 '' for Redis's own time, or ms  3 event  4 priority  5 audience, encoded  6 timestamp s or ''
--       7 payload  8 offset of its timestamp's ten digits  9 supersedable 0|1  10 expiry s or ''
--       11 ms that it is tried without an expiry
--       12 retention ms  13 the p keys' common prefix  14 most unswept pushes of one name
--       15 1: the queues are full, so only what takes another's place is accepted
--       16 1: past the name's budget of priority 10 it goes out at 5  17 attributes type of a start, or ''  18 1: a start
--       for followers too  19 of an automatic end: the latest start, ms, of the cards that it ends; else ''
--       20 1: it says nothing about the state  21 1: it is for the broadcast channel alone, too large for tokens
--       22 the w keys' common prefix
-- Returns {'ok', sequence, timestamp, wake} (the same again for an id that is already committed),
--         {'behind', last timestamp}, {'ended'}, {'full'} (the name) or {'closed'} (ARGV 15); nothing but `firm` is written for these.
--         wake 1: the caller must put an entry for the name into a stream; 2: also, though something waited before. 0: one
--         is there, or is put there when the push that is being swept is finished.
-- Atomic. A superseded push's record is reached by its id (its key is not declared, but has the same hash tag); should it
-- not be on this node while its slot moves, pcall leaves that push in the queue, to be sent before this one.
-- A push without a state replaces nothing, and what waits before it keeps its place: that is the state that its cards show. An
-- automatic end is one of them, and closes nothing besides, since it is for some cards of the name.
local id, sup = ARGV[1], ARGV[9]
local automatic = (ARGV[19] or '') ~= ''
local known = redis.call('HMGET', KEYS[3], 'seq', 'ts', 'state')
-- Whoever repeats an id may have died before the wake-up.
if known[1] then return {'ok', tonumber(known[1]), tonumber(known[2]), known[3] == 'queued' and 2 or 0} end

-- Gateways' clocks may differ by minutes: order, and what a device takes for newer, follow this one clock.
local now = tonumber(ARGV[2]) or redis_now()
local stamp = string.format('%.0f', now)

local meta = redis.call('HMGET', KEYS[1], 'ts', 'ended', 'active', 'woken', 'seq', 'firm')
local last = tonumber(meta[1] or '0')
-- Cards that are still there can always be ended once more. Of several buckets that is taken for granted.
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

-- Full without a look at each push, where nothing can be replaced: what has no state for the same tokens takes nobody's place, and
-- `firm` is the sequence number as of which nothing that waits can be replaced.
local replacesNothing = ARGV[3] == 'start' or automatic or ARGV[20] == '1' or ARGV[21] == '1'
local isFull = redis.call('ZCARD', KEYS[2]) >= tonumber(ARGV[14])
if isFull and (replacesNothing or meta[6] and meta[6] == meta[5]) then return {'full'} end
-- The deadline is fixed here, so that all who ask for it agree. Expiry 0 means: try once, not: never.
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
-- The tasks of each have to be here too.
for at = #replaced, 1, -1 do
    local tasks = redis.pcall('EXISTS', ARGV[22] .. replaced[at])
    if type(tasks) == 'table' then
        table.remove(replaced, at)
        firm = true
    end
end
if #pending - #replaced >= tonumber(ARGV[14]) then
    -- Not written where memory is full: the next refusal looks once more.
    if allFirm and meta[5] then redis.pcall('HSET', KEYS[1], 'firm', meta[5]) end
    return {'full'}
end
if ARGV[15] == '1' and #replaced == 0 then return {'closed'} end
for _, old in ipairs(replaced) do
    redis.call('HSET', ARGV[13] .. old, 'superseded_by', id, 'expanded', 1)
    -- One that an operator took up again may have waiting places.
    stop(ARGV[13] .. old, ARGV[22] .. old, 'superseded', stamp)
    redis.call('ZREM', KEYS[2], old)
    finish(ARGV[13] .. old, ARGV[22] .. old, stamp)
end

-- Something that waits has an entry, or had one that was lost with its gateway: so it is repeated, after 5 s, 10 s, … 640 s.
-- What waits may do so at a lower priority, or for the end of its interval (pacing), which this push need not.
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
    -- The name lives again: what follows the start is for those whom it reaches.
    open_name(KEYS[1])
end
if automatic then redis.call('HSET', KEYS[3], 'cutoff', ARGV[19]) end
redis.call('PEXPIRE', KEYS[3], ARGV[12])
redis.call('ZADD', KEYS[2], seq, id)
redis.call('PEXPIRE', KEYS[2], ARGV[12])
redis.call('HSET', KEYS[1], 'last', id, 'woken', woken)
-- A publisher's own timestamps are not measured by an automatic end's.
if not automatic then redis.call('HSET', KEYS[1], 'ts', digits) end
if ARGV[3] == 'end' and not automatic then redis.call('HSET', KEYS[1], 'ending', stamp) end
-- No start from before it goes out any more, and whose token comes after it is brought it.
if ARGV[5] == '*' and ARGV[3] == 'end' and not automatic then
    redis.call('HSET', KEYS[3], 'closes', KEYS[1])
    close_name(KEYS[1], seq, stamp, id)
end
redis.call('PEXPIRE', KEYS[1], ARGV[12])
return {'ok', seq, ts, wake and (#pending == 0 and 1 or 2) or 0}
