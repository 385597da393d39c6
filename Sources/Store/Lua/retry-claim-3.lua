-- Takes the lease on a name's waiting channels.
-- KEYS  1 l (lease, hash)  2 r  3 o
-- ARGV  1 owner  2 lease ms  3 retention ms  4 most lapses in a row without progress
-- Returns {'idle'}: nothing waits and nothing is owed.  {'held', ms left}: another owner's lease is live.
--         {'claimed', epoch, removals owed, poison 0|1}: poison, when so many owners in a row died or fell asleep over it.
local owed = redis.call('HLEN', KEYS[3])
if owed == 0 and redis.call('EXISTS', KEYS[2]) == 0 then return {'idle'} end
local now = redis_now()
local lease = redis.call('HMGET', KEYS[1], 'r:e', 'r:d', 'r:o', 'r:c')
if lease[2] and tonumber(lease[2]) > now then return {'held', tonumber(lease[2]) - now} end
local epoch, lapses = tonumber(lease[1] or 0) + 1, tonumber(lease[4] or 0)
-- A lease that was given back has no owner.
if lease[3] and lease[3] ~= '' then lapses = lapses + 1 end
redis.call('HSET', KEYS[1], 'r:e', epoch, 'r:o', ARGV[1], 'r:d', string.format('%.0f', now + ARGV[2]), 'r:c', lapses)
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return {'claimed', epoch, owed, lapses > tonumber(ARGV[4]) and 1 or 0}
