-- Notes why the work on a name's broadcast channel failed.
-- key bc: the name's broadcast channel, hash
-- argument message: error text
-- Returns how many attempts in a row have failed; 0: there is no such work.
local state = redis.call('HGET', bc, 'state')
if state ~= 'wanted' and state ~= 'deleting' then return 0 end
redis.call('HSET', bc, 'error', message)
return redis.call('HINCRBY', bc, 'attempts', 1)
