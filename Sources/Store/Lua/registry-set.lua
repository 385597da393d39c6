-- Stores a registration unless something newer stands there. Records and tombstones: Store/RegistryRecord.swift.
--
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
-- ARGV[8] only after {right count, push}: push id of that `end`
-- ARGV[9] the push id, 16 bytes
-- ARGV[10] its p key
-- ARGV[11] its w key
-- ARGV[12] retention, ms
-- Returns 0: stale. 1: stored. 2: stored, and the bucket is too full. 4 more: the caller must wake a worker for late
--   joiners.
--   {right count}: the caller's count is outdated. Nothing was done.
--   {right count, push}: this `end` is for the card. Nothing was done. Set a wake-up, then call again with ARGV[8] to
--     ARGV[12].
-- Atomic.
local count = redis.call('HGET', KEYS[1], 'n') or '1'
if count ~= ARGV[1] then return {count} end

local record = ARGV[3]
-- isNew: another token. isNewCard: another card, because the channel did not follow or this is another activity.
local isNew, isNewCard = true, true
-- isUnknown: what stands here is not of this card, so the card is new. Its own clock, which may be slow, is not asked
-- then. A tombstone shows this only if it and the registration have activity ids that differ.
local isUnknown = true
local wantsState = ARGV[7] == '1' or ARGV[7] == '3'
local old = redis.call('HGET', KEYS[2], ARGV[2])
local flags = old and string.byte(old) or 0
if old and bit.band(flags, 1) == 0 and #old >= token_at(old) then
    local new = time(record, 2)
    if new < time(old, 2) then return 0 end
    -- An activity is over 8 h 15 min after its start (as in RegistryRecord).
    local before, id = string.sub(old, 8, 10), string.sub(record, 8, 10)
    isNewCard = before ~= id and before ~= '\0\0\0' and id ~= '\0\0\0'
        or start_of(old) + 29700000 < new
    isUnknown = isNewCard
    if ARGV[7] >= '2' and (before ~= id or id == '\0\0\0') then return 0 end
    isNew = string.sub(old, token_at(old)) ~= string.sub(record, token_at(record))
    if bit.band(flags, 8) ~= 0 and time(old, 14) > new then
        if string.sub(old, 11, 13) == string.sub(record, 8, 10) then
            -- The removal of this activity came before its registration.
            redis.call('HSET', KEYS[2], ARGV[2],
                '\1' .. string.sub(old, 14, 18) .. '\0' .. string.sub(old, 11, 13) .. string.sub(record, 2, 6))
            return 0
        end
        record = string.char(string.byte(record) + 8) .. string.sub(record, 2, 10) .. string.sub(old, 11, 18)
            .. string.sub(record, 11)
    end
elseif old and bit.band(flags, 1) == 1 and #old >= 15 then
    local new, dead, floor = time(record, 2), time(old, 2), time(old, 11)
    local pruned = bit.band(flags, 4) ~= 0
    local gone, id = activity_of(old), string.sub(record, 8, 10)
    isUnknown = gone ~= id and gone ~= '\0\0\0' and id ~= '\0\0\0'
    if ARGV[7] >= '2' then return 0 end
    if new < dead or (pruned and new == dead) then
        local held = string.sub(old, 8, 10)
        local same
        if pruned then
            local digest = redis.sha1hex(string.sub(record, token_at(record)))
            same = digest:sub(1, 6) == string.format('%02x%02x%02x', string.byte(held, 1, 3))
        else
            local id = string.sub(record, 8, 10)
            same = id == held or id == '\0\0\0' or held == '\0\0\0'
        end
        if same or new < floor then
            if new > floor then
                redis.call('HSET', KEYS[2], ARGV[2],
                    string.sub(old, 1, 10) .. string.sub(record, 2, 6) .. string.sub(old, 16))
            end
            return 0
        end
        if not pruned then
            -- Another activity was removed later. The record notes that, because that activity's registration may still
            -- arrive.
            record = string.char(string.byte(record) + 8) .. string.sub(record, 2, 10) .. held
                .. string.sub(old, 2, 6) .. string.sub(record, 11)
        end
    end
end

local meta = redis.call('HMGET', KEYS[3], 'ended', 'catch', 'ending', 'begun', 'late', 'over', 'over_id')
-- A start created the card, and this is its first token. Pushes since that start are for it, an `end` too.
local start, started
local awaited = isNewCard and redis.call('HGET', KEYS[9], ARGV[2])
if awaited then
    start, started = string.match(awaited, '^(%d+) (%d+)$')
    if start and tonumber(started) + 28800000 < tonumber(ARGV[4]) then start = nil end
end
-- An `end` for everyone was accepted since the card's start, and its sweep is past the channel. The end joins the
-- channel's retry queue in this step, so that no other push of the name reaches the card before it.
local isEnded = false
if start and meta[7] and tonumber(meta[6]) > tonumber(start) then
    if meta[7] ~= ARGV[8] then return {count, meta[7]} end
    local state = redis.call('HGET', ARGV[10], 'state')
    isEnded = (state == 'sending' or state == 'done') and meta[2] ~= ARGV[9]
end

local added = redis.call('HSET', KEYS[2], ARGV[2], record)
renew(KEYS[1], KEYS[2], ARGV[5])
if awaited then redis.call('HDEL', KEYS[9], ARGV[2]) end
-- Whether the card began after something that was accepted at that time (ms).
local function began_after(at) return at and isNewCard and (isUnknown or (tonumber(at) or 0) < tonumber(ARGV[4])) end
-- Open the name only for a card that began after the end. Do not open it for a card that a start created: an end since
-- then is for that card, and the start opened the name after earlier ends. Do not open it for an older card, whose call
-- is repeated or whose token rotates. An `end` that was stopped has closed nothing (`ended`), but an operator may retry it.
-- It is not for this card either, so its time (`ending`) counts, too.
if (began_after(meta[1]) or began_after(meta[3])) and not start then open_name(KEYS[3]) end
if began_after(meta[3]) and not start then
    local now = redis.call('TIME')
    redis.call('ZADD', KEYS[6], string.format('%.0f', now[1] * 1000 + math.floor(now[2] / 1000)), ARGV[2])
    redis.call('PEXPIRE', KEYS[6], ARGV[5])
    -- A card lives no longer than its bucket. Channels from before that time leave here, 16 at a time.
    local over = string.format('%.0f', now[1] * 1000 - ARGV[5])
    for _, channel in ipairs(redis.call('ZRANGEBYSCORE', KEYS[6], '-inf', over, 'LIMIT', 0, 16)) do
        redis.call('ZREM', KEYS[6], channel)
    end
end
local wakes = 0
local function wake()
    local now = redis.call('TIME')
    now = now[1] * 1000 + math.floor(now[2] / 1000)
    -- The call that noted the first late joiner woke a worker for all of them. The wake-up is repeated after 5 s, in
    -- case it was lost.
    if redis.call('HLEN', KEYS[8]) == 1 or now - (tonumber(meta[5] or '') or 0) >= 5000 then
        redis.call('HSET', KEYS[3], 'late', string.format('%.0f', now))
        wakes = 4
    end
end
if isEnded then
    wakes = 4
elseif isNewCard and (start or wantsState) then
    local states = redis.call('HGET', KEYS[7], '*')
    -- The active push is for everyone, and its catch-up covers the channel.
    local isRunning = states and meta[2] and string.match(states, '^%d+') == meta[4]
    if not isRunning and (states or redis.call('EXISTS', KEYS[7]) == 1) then
        -- The catch-up of the active push (`catch`) covers the channel if it is in the audience.
        local upTo = tonumber(meta[4] or '0') - (meta[2] and 1 or 0)
        redis.call('HSET', KEYS[8], ARGV[2], string.format('%.0f %s', upTo, start or '0'))
        redis.call('PEXPIRE', KEYS[8], 28800000)
        wake()
    end
elseif (wantsState or not isNew) and redis.call('HEXISTS', KEYS[8], ARGV[2]) == 1 then
    -- The call is repeated because its answer was lost.
    wake()
end
if isNew then
    -- The third byte counts registrations. It tells an attempt in flight that the channel has another token by now.
    -- Not where an `end` was delivered to the token before: it was not delivered to this one.
    local list = redis.call('HGET', KEYS[4], ARGV[2])
    local waits = list and #list >= 19 and read_header(list)
    if waits then
        redis.call('HSET', KEYS[4], ARGV[2],
            string.sub(list, 1, 2) .. string.char((string.byte(list, 3) + 1) % 256) .. string.sub(list, 4))
    end
    if meta[2] and not (waits and string.sub(list, -16) == meta[2]) then
        redis.call('ZADD', KEYS[5], redis.call('HINCRBY', KEYS[3], 'arrivals', 1), ARGV[2])
        redis.call('PEXPIRE', KEYS[5], ARGV[5])
    end
end
if isEnded then
    local list = redis.call('HGET', KEYS[4], ARGV[2])
    local isNewLine = not list or #list < 19
    -- Without its alert. Pushes in the queue are older, or joined it while the token was not known.
    local line = quieted((isNewLine and '\0\0\0' or list) .. ARGV[9])
    if isNewLine or #list < 3 + 16 * 64 then
        local now = redis.call('TIME')
        now = string.format('%.0f', now[1] * 1000 + math.floor(now[2] / 1000))
        bring(ARGV[10], ARGV[11], KEYS[4], KEYS[10], ARGV[2], line, isNewLine, now, ARGV[12])
    end
end
if added == 1 and redis.call('HLEN', KEYS[2]) > tonumber(ARGV[6]) then return 2 + wakes end
return 1 + wakes
