-- Asks for a broadcast channel of a name, or says which one there is. The error of earlier attempts is removed.
-- key bc: the name's broadcast channel, hash
-- argument storage: 'none' or 'newest'
-- argument now: the caller's time, ms
-- Returns {'wanted' | 'live' | 'deleting', storage}: the state afterwards. APNs fixes the storage when a channel is
--   made, so the storage of an existing one stays.
-- Atomic.
local known = redis.call('HMGET', bc, 'state', 'storage')
if known[1] then
    if known[1] == 'wanted' then redis.call('HDEL', bc, 'error', 'attempts') end
    return {known[1], known[2]}
end
redis.call('HSET', bc, 'state', 'wanted', 'storage', storage, 'since', now)
return {'wanted', storage}
