-- Begins a name's oldest unswept push, or says what to do instead. The first caller fixes the number of shards. A push
-- with one shard is claimed in the same step, so that a small audience costs one round trip.
-- KEYS[1] n: name meta, hash
-- KEYS[2] q: the name's unswept pushes, zset by sequence number
-- KEYS[3] p: this push, hash
-- KEYS[4] w: its tasks, hash
-- KEYS[5] b: the registry's bucket 0, hash
-- KEYS[6] k: catch-up, zset
-- KEYS[7] o: pending removals, hash
-- KEYS[8] bc: the name's broadcast channel, hash
-- KEYS[9] bt: broadcast queue, zset by sequence number
-- KEYS[10] v: newest states by audience, hash
-- ARGV[1] push id
-- ARGV[2] owner
-- ARGV[3] lease, ms
-- ARGV[4] least buckets of a shard
-- ARGV[5] most shards
-- ARGV[6] retention, ms
-- ARGV[7] least ms between updates; 0 = no pacing
-- ARGV[8] common prefix of the p keys
-- ARGV[9] push id, 16 bytes
-- ARGV[10] most lapses in a row without progress
-- ARGV[11] most updates at priority 10 in an hour; 0 = any number
-- ARGV[12] the same for devices without frequent updates
-- ARGV[13] for a start: field `n` of bucket 0 of its start tokens, which are on another slot; '' = not known
-- Returns one of these:
--   {'idle'}: no push waits.
--   {'other', id}: that push goes first. Call again with its keys.
--   {'gone', unswept pushes}: the record has expired. It was removed from the queue.
--   {'starts', attributes type}: nothing was done. Call again with ARGV[13].
--   {'paced', ms left}: the push may be superseded until then. Put an entry for the name into the timer.
--   {'planned', unswept pushes}: the push has begun, and its shards are in the stream.
--   {'plan', shards, record}: put the shards into the stream, then set w's `planned` (task-planned).
--   {'catchUp', unswept pushes}: the shards are finished. Claim the catch-up.
--   {'held', ms left}: another worker has the lease of the only shard, or of the catch-up.
--   {'claimed', epoch, position, ahead, record, pending removals of other pushes, poison 0|1}: the caller has shard
--     0/1.
-- Keys found in data: docs/keyspace.md.
-- Atomic.
local id = ARGV[1]
local n, q, p, w = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local active = redis.call('HGET', n, 'active')
if active and active ~= id then return {'other', active} end
if not active then
    local head = redis.call('ZRANGE', q, 0, 0)[1]
    if not head then return {'idle'} end
    if head ~= id then return {'other', head} end
end
local record, push = redis.call('HGETALL', p), {}
if #record == 0 then
    redis.call('ZREM', q, id)
    redis.call('HDEL', n, 'active', 'catch')
    redis.call('UNLINK', KEYS[6])
    return {'gone', redis.call('ZCARD', q)}
end
for i = 1, #record, 2 do push[record[i]] = record[i + 1] end
local isStart, isAutomatic = push.event == 'start', push.cutoff
if isStart and ARGV[13] == '' and redis.call('HEXISTS', w, 'shards') == 0 then return {'starts', push.type or ''} end
local now = redis_now()

-- Sets fields of the record, also in the answer.
local function set(...)
    redis.call('HSET', p, ...)
    for _, text in ipairs({...}) do record[#record + 1] = text end
end

if not active then
    if tonumber(ARGV[7]) > 0 and push.sup == '1' then
        local left = pace(n, q, ARGV[8], push, tonumber(ARGV[7]), now)
        if left > 0 then return {'paced', left} end
    end
    -- From here on, registry-set notes new registrations in k, because the sweep may be past their position. A start
    -- needs no catch-up: a channel that registers a token during its sweep has a card.
    redis.call('HSET', n, 'active', id, 'begun', push.seq, 'begun_id', id)
    if isStart then redis.call('HDEL', n, 'catch') else redis.call('HSET', n, 'catch', ARGV[9]) end
    redis.call('UNLINK', KEYS[6])
    redis.call('HSET', p, 'state', 'sending')
    if isAutomatic then
        -- Fix the content state here, for all shards and retries.
        local shows, payload = shown_state(KEYS[10], n, ARGV[8])
        if shows then set('shows', shows, 'shown', payload) end
    elseif isStart then
        redis.call('HSET', n, 'started', push.seq)
    else
        keep_state(KEYS[10], push, id)
    end
    -- A resumed push was counted when it began for the first time.
    local most, mostSlow = tonumber(ARGV[11]), tonumber(ARGV[12])
    if most + mostSlow > 0 and push.prio == '10' and push.event == 'update' and not push.resumed then
        local demote = spend(n, push.soft == '1', most, mostSlow, now)
        if demote then set('demote', demote) end
    end
    local channel = redis.call('HMGET', KEYS[8], 'state', 'id')
    -- All shards and retries of a start use the same broadcast channel, even if the name loses it meanwhile.
    if isStart and channel[1] == 'live' and channel[2] then set('input', channel[2]) end
    -- An operator may have resumed the push. Its broadcast is over if it was delivered or expired.
    local isBroadcast = push.bc == 'delivered' or push.bc == 'expired'
    local canBroadcast = push.aud == '*' and not isStart and not isAutomatic and not isBroadcast
    if canBroadcast and (channel[1] == 'live' or channel[1] == 'wanted') then
        -- Queue the broadcast here, because pushes begin in order. The field in the record tells the caller to wake a
        -- sender.
        set('bc', 'waiting')
        join_broadcast(KEYS[9], w, id, push.seq, ARGV[6])
    end
end

local lease = lease_of(w, '0/1:', 'shards', 'planned', '0/1:p', '0/1:a', 'left', 'owed')
local shards, isPlanned, position, ahead, left, ownRemovals = unpack(lease, 5, 10)
if not shards then
    -- `n` is `<buckets>:<fingerprint of the hash key>`, absent for one bucket. Only the number matters here.
    local count = isStart and ARGV[13] or redis.call('HGET', KEYS[5], 'n') or '1'
    shards = plan_shards(w, tonumber(string.match(count, '^%d+')) or 1, tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6])
end
if left == '0' then
    local held = lease_left(w, 'c:', lease_of(w, 'c:'), now)
    if held then return {'held', held} end
    return {'catchUp', redis.call('ZCARD', q)}
end
if tonumber(shards) > 1 then
    if isPlanned then return {'planned', redis.call('ZCARD', q)} end
    return {'plan', tonumber(shards), record}
end
local held = lease_left(w, '0/1:', lease, now)
if held then return {'held', held} end
local lapses = lapses_of(lease)
local epoch = claim_lease(w, '0/1:', lease, ARGV[2], now, ARGV[3], lapses)
return {'claimed', epoch, position or '0', ahead or '', record,
    redis.call('HLEN', KEYS[7]) - tonumber(ownRemovals or 0), lapses > tonumber(ARGV[10]) and 1 or 0}
