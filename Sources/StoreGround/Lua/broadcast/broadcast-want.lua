-- Asks for a broadcast channel of a name, or says which one there is. The error of earlier attempts is removed.
-- key bc: the name's broadcast channel, hash
-- argument storage: 'none' or 'newest'
-- argument now: the caller's time, ms
-- Returns {'wanted' | 'live' | 'deleting', storage}: the state afterwards. APNs cannot change a channel's storage.
local state, known = unpack(redis.call('HMGET', bc, 'state', 'storage'))
if state then
    if state == 'wanted' then redis.call('HDEL', bc, 'error', 'attempts') end
    return {state, known}
end
redis.call('HSET', bc, 'state', 'wanted', 'storage', storage, 'since', now)
return {'wanted', storage}
