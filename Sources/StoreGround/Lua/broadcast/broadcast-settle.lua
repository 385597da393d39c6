-- Writes down the outcome of a broadcast and gives the lease back. A repeated call finds another lease and returns 0.
-- uses time, lease, broadcast
-- key bc: the name's broadcast channel, hash
-- key bt: broadcast queue, zset by sequence number
-- key l: the name's leases, hash
-- arguments epoch, owner: of the caller's lease
-- argument id: push id
-- argument outcome: 'delivered', 'failed', 'expired', or 'retried' for another attempt
-- argument channel: broadcast channel id
-- argument status: HTTP status, or ''
-- argument reason: reason, or ''
-- argument pause: ms until another attempt
-- argument mayRepeat: 1 = APNs may have carried the request out without an answer
-- argument retention: how long the data is kept, ms
-- arguments ps, ws, dls: common prefixes of the p, w and dl keys
-- Returns {1, ids of the pushes that became final, how many pushes a delivered one superseded}, or {0} if another worker
--   has the lease. Nothing was written then.
-- Keys found in data: docs/keyspace.md.
if not has_lease(lease_of(l, 'b:'), epoch, owner) then return {0} end
local time = redis_now()
local now = string.format('%.0f', time)
give_back_lease(l, 'b:', now)
local p = ps .. id
local superseded = 0
local isThere = redis.call('EXISTS', bc) == 1
if isThere then redis.call('HSET', bc, 'sent', now) end
if redis.call('EXISTS', p) == 1 then
    redis.call('HSET', p, 'bc:channel', channel, 'bc:status', status, 'bc:reason', reason)
    redis.call('HINCRBY', p, 'bc:tries', 1)
    if mayRepeat == '1' then redis.call('HINCRBY', p, 'duplicates', 1) end
end
if outcome == 'retried' then
    if isThere then
        local tried, tries = unpack(redis.call('HMGET', bc, 'tried', 'tries'))
        redis.call('HSET', bc, 'due', string.format('%.0f', time + pause), 'tried', id,
            'tries', (tried == id and tonumber(tries) or 0) + 1)
    end
else
    if isThere then redis.call('HDEL', bc, 'due', 'tried', 'tries') end
    -- broadcast-take leaves before it what it supersedes.
    local rank = outcome == 'delivered' and redis.call('ZRANK', bt, id) or 0
    for _, older in ipairs(rank > 0 and redis.call('ZRANGE', bt, 0, rank - 1) or {}) do
        leave_broadcast(bt, ps, ws, dls, older, 'superseded', now, retention)
        superseded = superseded + 1
    end
    leave_broadcast(bt, ps, ws, dls, id, outcome, now, retention)
end
return {1, table.concat(finalPushes, ' '), superseded}
