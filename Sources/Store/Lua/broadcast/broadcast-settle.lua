-- Writes down the outcome of a broadcast and gives the lease back. A repeated call finds another lease and returns 0.
-- KEYS[1] bc: the name's broadcast channel, hash
-- KEYS[2] bt: broadcast queue, zset by sequence number
-- KEYS[3] l: the name's leases, hash
-- ARGV[1] epoch
-- ARGV[2] owner
-- ARGV[3] push id
-- ARGV[4] 'delivered', 'failed', 'expired', or 'again' for another attempt
-- ARGV[5] broadcast channel id
-- ARGV[6] HTTP status, or ''
-- ARGV[7] reason, or ''
-- ARGV[8] due time of another attempt, ms
-- ARGV[9] 1: APNs may have carried the request out without an answer
-- ARGV[10] common prefix of the p keys
-- ARGV[11] common prefix of the w keys
-- ARGV[12] common prefix of the dl keys
-- Returns 1, or 0 if another worker has the lease. Nothing was written then.
-- Keys found in data: docs/keyspace.md.
-- Atomic.
if not has_lease(lease_of(KEYS[3], 'b:'), ARGV[1], ARGV[2]) then return 0 end
local now = string.format('%.0f', redis_now())
give_back_lease(KEYS[3], 'b:', now)
local id, p = ARGV[3], ARGV[10] .. ARGV[3]
local isThere = redis.call('EXISTS', KEYS[1]) == 1
if isThere then redis.call('HSET', KEYS[1], 'sent', now) end
if redis.call('EXISTS', p) == 1 then
    redis.call('HSET', p, 'bc:channel', ARGV[5], 'bc:status', ARGV[6], 'bc:reason', ARGV[7])
    redis.call('HINCRBY', p, 'bc:tries', 1)
    if ARGV[9] == '1' then redis.call('HINCRBY', p, 'duplicates', 1) end
end
if ARGV[4] == 'again' then
    if isThere then
        local before = redis.call('HMGET', KEYS[1], 'tried', 'tries')
        local tries = before[1] == id and tonumber(before[2]) or 0
        redis.call('HSET', KEYS[1], 'due', ARGV[8], 'tried', id, 'tries', tries + 1)
    end
else
    if isThere then redis.call('HDEL', KEYS[1], 'due', 'tried', 'tries') end
    leave_broadcast(KEYS[2], ARGV[10], ARGV[11], ARGV[12], id, ARGV[4], now)
end
return 1
