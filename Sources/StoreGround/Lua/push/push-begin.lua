-- Begins a name's oldest unswept push, or says what to do instead. The first caller fixes the number of shards. A push
-- with one shard is claimed in the same step, so that a small audience costs one round trip.
-- uses constants, time, pacing-left
-- keys n, q: name meta, hash; the name's unswept pushes, zset by sequence number
-- keys p, w: this push and its tasks, hashes
-- key b: the registry's bucket 0, hash
-- keys k, o: catch-up, zset; pending removals, hash
-- keys bc, bt: the name's broadcast channel, hash; its broadcast queue, zset by sequence number
-- key v: states by audience that late joiners may get, hash
-- keys h, x, e, y: channels of the name that wait, are quarantined, are of the other environment, are new followers
-- arguments id, raw: push id as text and as 16 bytes
-- arguments owner, length: the caller, and how long its lease is to be, ms
-- arguments leastBuckets, mostShards: least buckets of a shard, and most shards
-- argument startBuckets: for a start: field `n` of its start tokens' bucket 0, on another slot; '' = not known
-- argument interval: least ms between updates; 0 = no pacing
-- argument mostHigh: most updates an hour at priority 10; 0 = any number
-- arguments retention, ps: how long the data is kept, ms; common prefix of the p keys
-- Returns one of these.
--   {'idle'}: no push waits.
--   {'other', id}: that push goes first. Call again with its keys.
--   {'gone'}: the record has expired. It was removed from the queue.
--   {'starts', attributes type}: nothing was done. Call again with `startBuckets`.
--   {'paced', ms left}: the push may be superseded until then. Put an entry for the name into the timer.
--   {'planned'}: the push has begun, and its shards are in the stream.
--   {'plan', shards, split 0|1}: put the shards into the stream, then set w's `planned` (task-planned). split: with one
--     more, for other platforms.
--   {'catchUp'}: the shards are finished. Claim the catch-up.
--   {'held', ms left}: another worker has the lease of the only shard, or of the catch-up.
--   {'claimed', epoch, position, ahead, pending removals of other pushes, lapses, lone, tokens}: it is shard 0/1.
--     lone: the push as shared-lone-words has it; nil for others, whose record the caller reads afterwards
--     tokens: the name's buckets, if that is a short bucket 0 and no channel has a mark; else nil
-- Keys found in data: docs/keyspace.md.
local active, newest, before, paced, lastSeq, lone, sent, handed =
    unpack(redis.call('HMGET', n, 'active', 'newest', 'before', 'paced', 'seq', 'lone', 'sent', 'handed'))
local now = redis_now()

-- The usual case: a lone push begins, and the name has one shard, no marks, no removals and no broadcast.
if lone and not (sent or handed) then
    local loneID, seq, prio, deadline, sup = string.match(lone, '^(%S+) (%d+) %d+ (%d+) (%d+) %d+ %d+ (%S+)')
    if loneID ~= id then return {'other', loneID} end
    local isPaced = sup ~= '-' and interval ~= '0'
    -- Without `before` the newest push is done, so it alone is kept beside this one.
    local isUsual = not before and (mostHigh == '0' or prio ~= '10')
    local left = isPaced and pacing_left(paced, seq, tonumber(deadline), interval, now) or not isPaced and 0
    -- A lone push can be superseded itself, and no other push waits behind it.
    if isUsual and left and left > 0 then return {'paced', left} end
    isUsual = isUsual and left
    if isUsual and redis.call('EXISTS', q, k, o, bc, v, h, x, e, y) == 0 then
        local tokens = redis.call('HRANDFIELD', b, MOST_TOKENS + 1, 'WITHVALUES')
        local count = nil
        if #tokens > 2 * MOST_TOKENS then tokens, count = nil, redis.call('HGET', b, 'n') end
        for at = 1, tokens and #tokens or 0, 2 do if tokens[at] == 'n' then count = tokens[at + 1] end end
        if not count or (tonumber(string.match(count, '^%d+')) or 1) < 2 * leastBuckets then
            local stamp = string.format('%d', now)
            local fields = {'begun', seq, 'begun_id', id, 'newest', string.format('%s update %s %s', seq, id, stamp),
                'sent', string.format('1 %d %s %s', now + length, length, owner),
                newest and 'before' or nil, newest or nil}
            if isPaced then fields[#fields + 1], fields[#fields + 2] = 'paced', stamp .. ' ' .. lastSeq end
            redis.call('HSET', n, unpack(fields))
            return {'claimed', 1, '0', '', 0, 0, lone, not count and tokens or nil}
        end
    end
end
-- uses lone, lease, broadcast, sweep, pacing, states, budget
if lone then
    unpack_lone(n)
    active, newest, before, paced = unpack(redis.call('HMGET', n, 'active', 'newest', 'before', 'paced'))
end
if active and active ~= id then return {'other', active} end
if not active then
    local head = redis.call('ZRANGE', q, 0, 0)[1]
    if head ~= id then return head and {'other', head} or {'idle'} end
end
local fields = {'seq', 'event', 'prio', 'aud', 'sup', 'state', 'until', 'soft', 'cutoff', 'type', 'bc', 'resumed', 'back',
    'created'}
local push = {}
for at, value in ipairs(redis.call('HMGET', p, unpack(fields))) do push[fields[at]] = value or nil end
if not push.event then
    redis.call('ZREM', q, id)
    redis.call('HDEL', n, 'active', 'catch')
    redis.call('UNLINK', k)
    return {'gone'}
end
interval = push.sup and tonumber(interval) or 0
local isStart = push.event == 'start'
if isStart and startBuckets == '' and redis.call('HEXISTS', w, 'shards') == 0 then return {'starts', push.type or ''} end
local function set(...) redis.call('HSET', p, ...) end

if not active then
    if interval > 0 then
        local left = pace(n, q, ps, push, paced, lastSeq, interval, now)
        if left > 0 then return {'paced', left} end
    end
    -- From here on, registry-set notes new registrations in k, because the sweep may be past their position. A start
    -- needs no catch-up: a channel that registers a token during its sweep has a card.
    redis.call('HSET', n, 'active', id, 'begun', push.seq, 'begun_id', id)
    if isStart then redis.call('HDEL', n, 'catch') else redis.call('HSET', n, 'catch', raw) end
    redis.call('UNLINK', k)
    local waited = math.min(now - (push.created or now), 2 ^ 24 - 1)
    set('state', 'sending', unpack(waited >= 1000 and {'waited', string.format('%d', waited)} or {}))
    -- Late joiners noted so far may have missed newer pushes, but this sweep finds them.
    if push.back then set('notes', redis.call('HGET', n, 'arrivals') or 0) end
    begin_state(v, n, newest, before, ps, push, id, set, now)
    local demote = spend(n, push, tonumber(mostHigh), now)
    if demote then set('demote', demote) end
    begin_broadcast(bc, bt, w, id, push, set, retention)
end

local lease, shards, isPlanned, position, ahead, left, ownRemovals, isSplit =
    lease_of(w, '0/1:', 'shards', 'planned', '0/1:p', '0/1:a', 'left', 'owed', 'split')
if not shards then
    -- `n` is `<buckets>:<fingerprint of the hash key>`, absent for one bucket. Only the number matters here.
    local count = isStart and startBuckets or redis.call('HGET', b, 'n') or '1'
    local buckets = tonumber(string.match(count, '^%d+')) or 1
    isSplit = (isStart or buckets >= tonumber(leastBuckets)) and is_for_several(p)
    shards = plan_shards(w, buckets, tonumber(leastBuckets), tonumber(mostShards), retention, isSplit)
end
if left == '0' then
    local held = lease_left(w, 'c:', lease_of(w, 'c:'), now)
    return held and {'held', held} or {'catchUp'}
end
if tonumber(shards) > 1 then
    if isPlanned then return {'planned'} end
    return {'plan', tonumber(shards), isSplit and 1 or 0}
end
local held = lease_left(w, '0/1:', lease, now)
if held then return {'held', held} end
local epoch, lapses = claim_task(w, '0/1:', lease, owner, now, length)
return {'claimed', epoch, position or '0', ahead or '', redis.call('HLEN', o) - tonumber(ownRemovals or 0), lapses}
