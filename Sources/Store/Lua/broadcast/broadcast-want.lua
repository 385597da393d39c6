-- Asks for a broadcast channel of a name, or says which one there is. The error of earlier attempts is removed.
-- KEYS[1] bc: the name's broadcast channel, hash
-- ARGV[1] storage: 'none' or 'newest'
-- ARGV[2] now, ms
-- Returns {'wanted' | 'live' | 'deleting', storage}: the state afterwards. APNs fixes the storage when a channel is
--   made, so the storage of an existing one stays.
-- Atomic.
local known = redis.call('HMGET', KEYS[1], 'state', 'storage')
if known[1] then
    if known[1] == 'wanted' then redis.call('HDEL', KEYS[1], 'error', 'attempts') end
    return {known[1], known[2]}
end
redis.call('HSET', KEYS[1], 'state', 'wanted', 'storage', ARGV[1], 'since', ARGV[2])
return {'wanted', ARGV[1]}
