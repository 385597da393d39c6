-- A channel is no more at APNs.
-- KEYS  1 bc
-- ARGV  1 channel id  2 now ms
-- Returns 'deleted': it was to be.  'wanted': it was in use; another one is to be made.  '': it was not this name's.
local known = redis.call('HMGET', KEYS[1], 'state', 'id')
if known[2] ~= ARGV[1] then return '' end
if known[1] == 'deleting' then
    redis.call('DEL', KEYS[1])
    return 'deleted'
end
redis.call('HSET', KEYS[1], 'state', 'wanted', 'since', ARGV[2])
redis.call('HDEL', KEYS[1], 'id', 'created')
return 'wanted'
