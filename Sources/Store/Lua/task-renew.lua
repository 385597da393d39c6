-- Prolongs a lease that the caller still has, or gives it back. A lease that was given back has no owner, so that a
-- late renewal cannot revive it.
-- KEYS[1] w: the push's tasks, or l: the name's leases; hash
-- ARGV[1] shard, 'c', 'r' or 'b'
-- ARGV[2] owner
-- ARGV[3] epoch
-- ARGV[4] lease, ms; 0 gives it back at once
-- Returns 1, or 0 if another owner has the lease or the task is finished.
local s = ARGV[1]
local task = redis.call('HMGET', KEYS[1], s .. ':e', s .. ':o')
if task[1] ~= ARGV[3] or task[2] ~= ARGV[2] then return 0 end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('HSET', KEYS[1], s .. ':d', string.format('%.0f', now + ARGV[4]))
if ARGV[4] == '0' then redis.call('HSET', KEYS[1], s .. ':o', '') end
return 1
