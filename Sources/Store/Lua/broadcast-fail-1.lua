-- Notes why the work on a name's channel did not succeed.
-- KEYS  1 bc
-- ARGV  1 words
-- Returns how many attempts in a row have failed; 0: there is no such work.
local state = redis.call('HGET', KEYS[1], 'state')
if state ~= 'wanted' and state ~= 'deleting' then return 0 end
redis.call('HSET', KEYS[1], 'error', ARGV[1])
return redis.call('HINCRBY', KEYS[1], 'attempts', 1)
