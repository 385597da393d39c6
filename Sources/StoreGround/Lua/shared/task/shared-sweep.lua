-- Fragment for push-begin and task-settle: the shards of a sweep, and its end.

-- Whether a push is for several platforms: its payload has a second part, which does not say that it is alone.
local function is_for_several(p)
    local payload = redis.call('HGET', p, 'payload') or ''
    local at = string.find(payload, '\0', 1, true)
    return at and string.byte(payload, at + 1) == 0
end

-- Fixes the number of shards: a power of two, so that each has at least `least` buckets. A push that is split has one
-- shard more, for the followers on other platforms than the first: a platform that is slow must not hold the first one
-- up (docs/adr/0061-android-on-one-name.md).
local function plan_shards(w, buckets, least, most, life, isSplit)
    local shards = isSplit and 2 or 1
    while shards < most and shards * 2 * least <= buckets do shards = shards * 2 end
    redis.call('HSET', w, 'shards', shards, 'left', shards)
    if isSplit then redis.call('HSET', w, 'split', 1, 'left', shards + 1) end
    redis.call('PEXPIRE', w, life)
    return shards
end

-- Ends the sweep once all shards are finished and no channel is left to catch up with. A stopped push catches up with
-- nothing. Returns 'ended', 'catchUp' if the catch-up waits, or nil if shards are left or the sweep has ended before.
-- n name meta, q unswept pushes, k catch-up, p and w of the push
local function end_sweep(n, q, k, p, w, id, isStopped)
    if redis.call('HGET', w, 'left') ~= '0' or redis.call('HGET', p, 'expanded') == '1' then return nil end
    if not isStopped and redis.call('EXISTS', k) == 1 then return 'catchUp' end
    redis.call('HSET', p, 'expanded', 1)
    redis.call('UNLINK', k)
    redis.call('ZREM', q, id)
    if redis.call('HGET', n, 'active') == id then redis.call('HDEL', n, 'active', 'catch') end
    return 'ended'
end
