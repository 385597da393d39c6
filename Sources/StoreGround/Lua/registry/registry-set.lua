-- Stores a registration (shared-record) unless the bucket has something newer of the channel. Also notes the channel
-- for a catch-up, as a late joiner or a new follower, and queues an `end` that the card missed.
-- uses constants, buckets, rotation
-- key b: root of the name, bucket 0; field n = `<buckets>:<fingerprint of the hash key>`, absent = 1 bucket
-- key bucket: the channel's bucket under the caller's count; may be the root
-- keys n, h, k: name meta, hash; retry queues, hash; catch-up, zset of channels by arrival
-- key y: zset by time (ms): channels whose card began after an `end` was accepted; older ends are not for them
-- key v: states by audience, hash: `<sequence> <event> <push>`, see shared-states
-- key f: late joiners, hash: `<sequence up to which sweeps missed it> <sequence of the start that created it, or 0>
--   n<number of the note> <last push of its retry queue, if any>`
-- keys a, r: started channels, hash: `<sequence of the start> <time, ms>`; waiting channels, zset by due time (ms)
-- key g: channels being forgotten, hash, see registry-forget
-- argument knownCount: the count that the bucket was computed from, as in n; `1` for an absent one
-- arguments channel, record: in their stored forms
-- arguments now, latest: ms since 2020, by the caller's clock. A stored time after the latter lies ahead (shared-latest)
-- arguments life, threshold: ms that the bucket lives from now; fields beyond which it should be split
-- argument flags: sum of 1: the channel wants the state that it missed; 2: the device's time is too old, so the record
--   has the time of arrival. It is stored for an unknown channel, or for the card that the channel has.
--   4: the channel's address is another one. That is of use only for a channel that follows.
-- rest: only after {right count, push}: id of that `end` as text and 16 bytes, prefixes of p, w and dl, retention (ms)
-- Returns 0: stale. 1: stored. 2: stored, and the bucket is too full. 4 more: wake a worker for late joiners. 8 more: the
--   root is new, so the name may have left its app's index. 16 more: the channel did not follow the name before.
--   {right count}: the caller's count is outdated. Nothing was done.
--   {right count, push}: the card missed this `end`. Nothing was done. Set a wake-up, then call again with its id.
local buckets = redis.call('HGET', b, 'n') or '1'
if buckets ~= knownCount then return {buckets} end
local stored = redis.call('HGET', bucket, channel)
-- The state goes to another address. The device has lost its card. `again`: one of the two is new since the record.
local card = {isMoved = tonumber(flags) >= 4, isLost = is_without_card(record) or false}
card.again = card.isMoved or card.isLost ~= (is_without_card(stored) or false)
-- The device gets a start of the first second that is not before the loss. Later pushes have later ones (push-second).
local lost = card.isLost and math.ceil((RECORD_EPOCH + action_ms(record)) / 1000)
if lost and redis.call('EXISTS', n) == 1 and lost > tonumber(redis.call('HGET', n, 'lost') or 0) then
    redis.call('HSET', n, 'lost', string.format('%.0f', lost))
end
if card.isMoved and not stored then return 0 end
local wantsState, isOld = flags % 2 == 1 or card.again, flags % 4 >= 2
local ended, catch, ending, begun, late, over, overID, ends, newest, sent, handed = unpack(redis.call(
    'HMGET', n, 'ended', 'catch', 'ending', 'begun', 'late', 'over', 'over_id', 'ends', 'newest', 'sent', 'handed'))
sent = sent or handed
local function stored_answer(added)
    local size = added == 1 and redis.call('HLEN', bucket) or 0
    return (size > tonumber(threshold) and 2 or 1) + (size == 1 and bucket == b and 8 or 0)
end

-- The usual case: the channel is new to the name, which is neither closed nor being swept, and nobody waits.
if not (stored or ended or ending or catch or sent or wantsState and newest)
    and (wantsState and redis.call('EXISTS', a, h, g, f, v) or redis.call('EXISTS', a, h, g)) == 0 then
    local added = redis.call('HSET', bucket, channel, record)
    renew(b, bucket, life)
    return stored_answer(added) + 16
end
-- Another usual case: the channel says its card's token again, or the next one. Then only the record changes.
if stored and not (isOld or card.isMoved or catch or sent) and is_next_token(stored, record)
    and redis.call('EXISTS', h, f, g) == 0 then
    redis.call('HSET', bucket, channel, record)
    renew(b, bucket, life)
    return 1
end
-- uses lone, registration, latest, newcomers
if sent then
    unpack_lone(n)
    catch, begun, newest = unpack(redis.call('HMGET', n, 'catch', 'begun', 'newest'))
end
latest = latest_believed(now, latest)
local verdict = compare_with_stored(stored, record, isOld, latest)
if verdict.isStale or card.isLost and ended or card.isMoved and not is_registration(stored) then
    if verdict.isStale and verdict.record then redis.call('HSET', bucket, channel, verdict.record) end
    return 0
end

local registeredAt = RECORD_EPOCH + action_time(record)
-- A start created the card, and this is its first token. Pushes since that start are for it, an `end` too.
local startSeq
local startedNote = verdict.isNewCard and redis.call('HGET', a, channel)
if startedNote then
    local seq, startedAt = string.match(startedNote, '^(%d+) (%d+)$')
    startSeq = seq
    if startSeq and tonumber(startedAt) + LATE_LIFE < registeredAt then startSeq = nil end
end
-- The card missed an `end` for everyone if that was accepted after the card's start and its sweep does not reach the
-- channel any more. The end joins the channel's retry queue in this step, so no other push of the name goes before it.
local isEnded = false
local endID, rawEnd, ps, ws, dls, retention = unpack(ARGV, rest)
if startSeq and overID and tonumber(over) > tonumber(startSeq) then
    if not endID then return {buckets, overID} end
    local id = newest_begun_end(ends, tonumber(startSeq), ps)
    if id and id ~= endID then return {buckets, id} end
    isEnded = id and catch ~= rawEnd
end

local added = redis.call('HSET', bucket, channel, verdict.record)
renew(b, bucket, life)
note_arrival(g, channel, tonumber(now))
if startedNote then redis.call('HDEL', a, channel) end
-- Whether the card began after the time `at` (ms). One that is to be started again did not.
local function began_after(at)
    return at and verdict.isNewCard and (verdict.isUnknown
        or not is_older(registeredAt, tonumber(at) + 1, RECORD_EPOCH + latest)) and not card.isLost
end
-- Open the name only for a card that began after the end, not for an older card that repeats its registration or
-- rotates its token. An end after a start is for the start's card, and the start has opened the name after earlier
-- ends. A stopped `end` closes nothing (`ended`), but may be retried and is not for this card (`ending`).
if (began_after(ended) or began_after(ending)) and not startSeq then open_name(n) end
if began_after(ending) and not startSeq then note_new_follower(y, n, channel, tonumber(ending), life) end

local wakes = isEnded
if not isEnded and (verdict.isNewCard or card.again) and (startSeq or wantsState) then
    local queue = redis.call('HGET', h, channel)
    wakes = note_late_joiner(v, f, n, channel, newest, begun, catch, startSeq, queue) and needs_wake(f, n, late)
elseif not isEnded and (wantsState or not verdict.isNew) and redis.call('HEXISTS', f, channel) == 1 then
    -- The call is repeated because its answer was lost.
    wakes = needs_wake(f, n, late)
end
if verdict.isNew or card.isMoved then note_token(h, k, n, channel, catch, life) end
if isEnded then
    -- The platform's code is in two bits of the record's flags, see RegistryRecord.
    local platform = math.floor(string.byte(record) / 32) % 4
    queue_missed_end(h, r, channel, platform, endID, rawEnd, ps, ws, dls, retention)
end
return stored_answer(added) + (wakes and 4 or 0) + (is_registration(stored) and 0 or 16)
