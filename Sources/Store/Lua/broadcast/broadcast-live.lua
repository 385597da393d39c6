-- A worker has made a broadcast channel for a name that wanted one.
-- key bc: the name's broadcast channel, hash
-- argument id: broadcast channel id
-- argument now: the caller's time, ms
-- Returns 1: it is the name's, also if the call is repeated. 0: the name has another one or wants none, and the caller
--   deletes this one.
local state, known = unpack(redis.call('HMGET', bc, 'state', 'id'))
if state == 'live' and known == id then return 1 end
if state ~= 'wanted' then return 0 end
redis.call('HSET', bc, 'state', 'live', 'id', id, 'since', now, 'created', now)
redis.call('HDEL', bc, 'error', 'attempts')
return 1
