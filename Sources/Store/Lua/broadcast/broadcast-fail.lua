-- Notes why the work on a name's broadcast channel failed.
-- KEYS[1] bc: the name's broadcast channel, hash
-- ARGV[1] error text
-- Returns how many attempts in a row have failed; 0: there is no such work.
-- Atomic.
local state = redis.call('HGET', KEYS[1], 'state')
if state ~= 'wanted' and state ~= 'deleting' then return 0 end
redis.call('HSET', KEYS[1], 'error', ARGV[1])
return redis.call('HINCRBY', KEYS[1], 'attempts', 1)
