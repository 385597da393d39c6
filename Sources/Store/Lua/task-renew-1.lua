-- Prolongs a lease that is still the caller's, or gives it back. A lease given back has no owner: a renewal that was on its
-- way meanwhile cannot revive it.
-- KEYS  1 w
-- ARGV  1 shard  2 owner  3 epoch  4 lease ms; 0 releases it at once
-- Returns 1, or 0 when another has taken the shard or it is finished.
local s = ARGV[1]
local task = redis.call('HMGET', KEYS[1], s .. ':e', s .. ':o')
if task[1] ~= ARGV[3] or task[2] ~= ARGV[2] then return 0 end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('HSET', KEYS[1], s .. ':d', string.format('%.0f', now + ARGV[4]))
if ARGV[4] == '0' then redis.call('HSET', KEYS[1], s .. ':o', '') end
return 1
