-- A worker has made a broadcast channel for a name that wanted one.
-- KEYS[1] bc: the name's broadcast channel, hash
-- ARGV[1] broadcast channel id
-- ARGV[2] now, ms
-- Returns 1: it is the name's, also if the call is repeated. 0: the name has another one or wants none, and the caller
--   deletes this one.
-- Atomic.
local known = redis.call('HMGET', KEYS[1], 'state', 'id')
if known[1] == 'live' and known[2] == ARGV[1] then return 1 end
if known[1] ~= 'wanted' then return 0 end
redis.call('HSET', KEYS[1], 'state', 'live', 'id', ARGV[1], 'since', ARGV[2], 'created', ARGV[2])
redis.call('HDEL', KEYS[1], 'error', 'attempts')
return 1
