-- A worker has made a broadcast channel for a name that wanted one.
-- key bc: the name's broadcast channel, hash
-- argument id: broadcast channel id
-- argument now: the caller's time, ms
-- Returns 1: it is the name's, also if the call is repeated. 0: the name has another one or wants none, and the caller
--   deletes this one.
-- Atomic.
local known = redis.call('HMGET', bc, 'state', 'id')
if known[1] == 'live' and known[2] == id then return 1 end
if known[1] ~= 'wanted' then return 0 end
redis.call('HSET', bc, 'state', 'live', 'id', id, 'since', now, 'created', now)
redis.call('HDEL', bc, 'error', 'attempts')
return 1
