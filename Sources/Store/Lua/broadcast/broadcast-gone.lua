-- APNs has deleted a broadcast channel, or does not know it.
-- KEYS[1] bc: the name's broadcast channel, hash
-- ARGV[1] broadcast channel id
-- ARGV[2] now, ms
-- Returns 'deleted': it was to be deleted. 'wanted': it was in use, and a worker is to make another one. '': the name
--   has another one or none.
-- Atomic.
local known = redis.call('HMGET', KEYS[1], 'state', 'id')
if known[2] ~= ARGV[1] then return '' end
if known[1] == 'deleting' then
    redis.call('DEL', KEYS[1])
    return 'deleted'
end
redis.call('HSET', KEYS[1], 'state', 'wanted', 'since', ARGV[2])
redis.call('HDEL', KEYS[1], 'id', 'created')
return 'wanted'
