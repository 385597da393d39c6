-- Begins a name's oldest unswept push, or says what to do instead. The first caller fixes the number of shards. A push
-- with one shard is claimed in the same step, so that a small audience costs one round trip.
-- keys n, q: name meta, hash; the name's unswept pushes, zset by sequence number
-- keys p, w: this push and its tasks, hashes
-- key b: the registry's bucket 0, hash
-- keys k, o: catch-up, zset; pending removals, hash
-- keys bc, bt: the name's broadcast channel, hash; its broadcast queue, zset by sequence number
-- key v: newest states by audience, hash
-- arguments id, raw: push id as text and as 16 bytes
-- arguments owner, length: the caller, and how long its lease is to be, ms
-- argument mostLapses: most lapses in a row without progress
-- arguments leastBuckets, mostShards: least buckets of a shard, and most shards
-- argument startBuckets: for a start: field `n` of its start tokens' bucket 0, on another slot; '' = not known
-- argument interval: least ms between updates; 0 = no pacing
-- arguments mostHigh, mostHighSlow: most updates an hour at priority 10, to all and to 'slow' devices; 0 = any number
-- arguments retention, ps: how long the data is kept, ms; common prefix of the p keys
-- Returns one of these:
--   {'idle'}: no push waits.
--   {'other', id}: that push goes first. Call again with its keys.
--   {'gone', unswept pushes}: the record has expired. It was removed from the queue.
--   {'starts', attributes type}: nothing was done. Call again with `startBuckets`.
--   {'paced', ms left}: the push may be superseded until then. Put an entry for the name into the timer.
--   {'planned', unswept pushes}: the push has begun, and its shards are in the stream.
--   {'plan', shards, record}: put the shards into the stream, then set w's `planned` (task-planned).
--   {'catchUp', unswept pushes}: the shards are finished. Claim the catch-up.
--   {'held', ms left}: another worker has the lease of the only shard, or of the catch-up.
--   {'claimed', epoch, position, ahead, record, pending removals of other pushes, poison 0|1}: it is shard 0/1.
-- Keys found in data: docs/keyspace.md.
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
    redis.call('UNLINK', k)
    return {'gone', redis.call('ZCARD', q)}
end
for i = 1, #record, 2 do push[record[i]] = record[i + 1] end
local isStart = push.event == 'start'
local isPlannable = not isStart or startBuckets ~= '' or redis.call('HEXISTS', w, 'shards') == 1
if not isPlannable then return {'starts', push.type or ''} end
local now = redis_now()

-- Sets fields of the record, also in the answer.
local function set(...)
    redis.call('HSET', p, ...)
    for _, text in ipairs({...}) do record[#record + 1] = text end
end

if not active then
    if tonumber(interval) > 0 and push.sup == '1' then
        local left = pace(n, q, ps, push, tonumber(interval), now)
        if left > 0 then return {'paced', left} end
    end
    -- From here on, registry-set notes new registrations in k, because the sweep may be past their position. A start
    -- needs no catch-up: a channel that registers a token during its sweep has a card.
    redis.call('HSET', n, 'active', id, 'begun', push.seq, 'begun_id', id)
    if isStart then redis.call('HDEL', n, 'catch') else redis.call('HSET', n, 'catch', raw) end
    redis.call('UNLINK', k)
    redis.call('HSET', p, 'state', 'sending')
    begin_state(v, n, ps, push, id, set)
    local demote = spend(n, push, tonumber(mostHigh), tonumber(mostHighSlow), now)
    if demote then set('demote', demote) end
    begin_broadcast(bc, bt, w, id, push, set, retention)
end

local lease, shards, isPlanned, position, ahead, left, ownRemovals =
    lease_of(w, '0/1:', 'shards', 'planned', '0/1:p', '0/1:a', 'left', 'owed')
if not shards then
    -- `n` is `<buckets>:<fingerprint of the hash key>`, absent for one bucket. Only the number matters here.
    local count = isStart and startBuckets or redis.call('HGET', b, 'n') or '1'
    local buckets = tonumber(string.match(count, '^%d+')) or 1
    shards = plan_shards(w, buckets, tonumber(leastBuckets), tonumber(mostShards), retention)
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
local epoch, poison = claim_task(w, '0/1:', lease, owner, now, length, mostLapses)
return {'claimed', epoch, position or '0', ahead or '', record,
    redis.call('HLEN', o) - tonumber(ownRemovals or 0), poison}
