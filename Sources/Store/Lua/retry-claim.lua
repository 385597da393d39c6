-- Claims a name's waiting channels.
-- KEYS[1] l: the name's leases, hash
-- KEYS[2] r: waiting channels, zset by due time (ms)
-- KEYS[3] o: pending removals, hash
-- ARGV[1] owner
-- ARGV[2] lease, ms
-- ARGV[3] retention, ms
-- ARGV[4] most lapses in a row without progress
-- Returns {'idle'}: no channel waits and no removal is pending.
--   {'held', ms left}: another owner has a live lease.
--   {'claimed', epoch, pending removals, poison 0|1}: poison 1 if more than ARGV[4] owners in a row crashed or stalled.
-- Atomic.
local owed = redis.call('HLEN', KEYS[3])
if owed == 0 and redis.call('EXISTS', KEYS[2]) == 0 then return {'idle'} end
local now = redis_now()
local lease = redis.call('HMGET', KEYS[1], 'r:e', 'r:d', 'r:o', 'r:c')
if lease[2] and tonumber(lease[2]) > now then return {'held', tonumber(lease[2]) - now} end
local epoch, lapses = tonumber(lease[1] or 0) + 1, tonumber(lease[4] or 0)
-- A lease that was given back has no owner, so this is no lapse.
if lease[3] and lease[3] ~= '' then lapses = lapses + 1 end
redis.call('HSET', KEYS[1], 'r:e', epoch, 'r:o', ARGV[1], 'r:d', string.format('%.0f', now + ARGV[2]), 'r:c', lapses)
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return {'claimed', epoch, owed, lapses > tonumber(ARGV[4]) and 1 or 0}
