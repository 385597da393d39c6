-- Stores a registration unless the bucket has something newer of the channel. The same step notes the channel for the
-- catch-up of a sweep, as a late joiner or as a new follower, and queues an `end` that its card missed. Records and
-- tombstones: shared-record.
-- KEYS[1] b: root of the name, bucket 0; field n = `<buckets>:<fingerprint of the hash key>`, absent = 1 bucket
-- KEYS[2] the channel's bucket under the caller's count; may be the root
-- KEYS[3] n: name meta, hash
-- KEYS[4] h: retry queues, hash
-- KEYS[5] k: catch-up, zset of channels by arrival
-- KEYS[6] y: channels whose card began after an `end` was accepted, zset by that time (ms). Older ends are not for
--   them.
-- KEYS[7] v: newest states by audience, hash: `<sequence> <event> <push>`
-- KEYS[8] f: late joiners, hash: `<sequence up to which sweeps passed the channel> <sequence of the start that created
--   it, or 0>`
-- KEYS[9] a: started channels, hash: `<sequence of the start> <time, ms>`
-- KEYS[10] r: waiting channels, zset by due time (ms)
-- ARGV[1] the count that the bucket was computed from, as in n; `1` for an absent one
-- ARGV[2] channel, stored form
-- ARGV[3] record
-- ARGV[4] time of the registration, epoch ms
-- ARGV[5] ms that the bucket lives from now
-- ARGV[6] fields beyond which a bucket should be split
-- ARGV[7] sum of 1: the channel wants the state that it missed, if it begins to follow; 2: the device's time is too old
--   to be believed, so the record has the time of arrival. It is stored for an unknown channel, or for the card that
--   the channel has.
-- ARGV[8] only in the call that follows {right count, push}: push id of that `end`
-- ARGV[9] the push id, 16 bytes
-- ARGV[10] common prefix of the p keys
-- ARGV[11] common prefix of the w keys
-- ARGV[12] common prefix of the dl keys
-- ARGV[13] retention, ms
-- Returns 0: stale. 1: stored. 2: stored, and the bucket is too full. 4 more: the caller must wake a worker for late
--   joiners.
--   {right count}: the caller's count is outdated. Nothing was done.
--   {right count, push}: the card missed this `end`. Nothing was done. Set a wake-up, then call again with ARGV[8] to
--     ARGV[13].
-- Atomic.
local count = redis.call('HGET', KEYS[1], 'n') or '1'
if count ~= ARGV[1] then return {count} end

local n, h, v, f, a, channel = KEYS[3], KEYS[4], KEYS[7], KEYS[8], KEYS[9], ARGV[2]
local wantsState, isOld = ARGV[7] == '1' or ARGV[7] == '3', ARGV[7] >= '2'
local verdict = compare_with_stored(redis.call('HGET', KEYS[2], channel), ARGV[3], isOld)
if verdict.isStale then
    if verdict.record then redis.call('HSET', KEYS[2], channel, verdict.record) end
    return 0
end
local isNew, isNewCard, isUnknown = verdict.isNew, verdict.isNewCard, verdict.isUnknown

local meta = redis.call('HMGET', n, 'ended', 'catch', 'ending', 'begun', 'late', 'over', 'over_id')
local catch = meta[2]
-- A start created the card, and this is its first token. Pushes since that start are for it, an `end` too.
local startSeq, startedAt
local startedNote = isNewCard and redis.call('HGET', a, channel)
if startedNote then
    startSeq, startedAt = string.match(startedNote, '^(%d+) (%d+)$')
    if startSeq and tonumber(startedAt) + LATE_LIFE < tonumber(ARGV[4]) then startSeq = nil end
end
-- An `end` for everyone was accepted after the card's start. If its sweep cannot reach the channel any more, the end
-- joins the channel's retry queue in this step, so that no other push of the name reaches the card before it.
local isEnded = false
if startSeq and meta[7] and tonumber(meta[6]) > tonumber(startSeq) then
    if meta[7] ~= ARGV[8] then return {count, meta[7]} end
    local state = redis.call('HGET', ARGV[10] .. meta[7], 'state')
    isEnded = (state == 'sending' or state == 'done') and catch ~= ARGV[9]
end

local added = redis.call('HSET', KEYS[2], channel, verdict.record)
renew(KEYS[1], KEYS[2], ARGV[5])
if startedNote then redis.call('HDEL', a, channel) end
-- Whether the card began after the time `at` (ms).
local function began_after(at) return at and isNewCard and (isUnknown or (tonumber(at) or 0) < tonumber(ARGV[4])) end
-- Open the name only for a card that began after the end.
-- Do not open it for a card that a start created: an end since then is for that card, and the start itself opened the
-- name after earlier ends. Do not open it for an older card, whose registration is repeated or whose token rotates.
-- A stopped `end` closes nothing (`ended`), but an operator may retry it. It is not for this card either, so its time
-- (`ending`) counts too.
if (began_after(meta[1]) or began_after(meta[3])) and not startSeq then open_name(n) end
if began_after(meta[3]) and not startSeq then note_new_follower(KEYS[6], channel, ARGV[5]) end

local wakes = isEnded
if not isEnded and isNewCard and (startSeq or wantsState) then
    wakes = note_late_joiner(v, f, channel, meta[4], catch, startSeq) and needs_wake(f, n, meta[5])
elseif not isEnded and (wantsState or not isNew) and redis.call('HEXISTS', f, channel) == 1 then
    -- The call is repeated because its answer was lost.
    wakes = needs_wake(f, n, meta[5])
end
if isNew then note_token(h, KEYS[5], n, channel, catch, ARGV[5]) end
if isEnded then
    local queue = redis.call('HGET', h, channel)
    local isNewQueue = not has_pushes(queue)
    local ps, ws, now = ARGV[10], ARGV[11], string.format('%.0f', redis_now())
    if isNewQueue then
        queue = header(0, 0, 0)
    elseif is_full(queue) then
        queue = make_room(queue, channel, ps, ws, ARGV[12])
        write_entries(now)
    end
    -- No push of the queue shows its alert. Those before the end are older, or joined while the token was not known.
    queue = without_alerts(queue .. ARGV[9])
    queue_late_joiner(ps .. meta[7], ws .. meta[7], h, KEYS[10], channel, queue, isNewQueue, now, ARGV[13])
end
local isOverfull = added == 1 and redis.call('HLEN', KEYS[2]) > tonumber(ARGV[6])
return (isOverfull and 2 or 1) + (wakes and 4 or 0)
