-- A worker has made a broadcast channel for a name that wanted one.
-- key bc: the name's broadcast channel, hash
-- argument id: broadcast channel id
-- argument now: the caller's time, ms
-- Returns 1: it is the name's, also after a repeated call. 0: the name wants none or has another; delete this one.
local state, known = unpack(redis.call('HMGET', bc, 'state', 'id'))
if state == 'live' and known == id then return 1 end
if state ~= 'wanted' then return 0 end
redis.call('HSET', bc, 'state', 'live', 'id', id, 'since', now, 'created', now)
redis.call('HDEL', bc, 'error', 'attempts')
return 1
