-- The name has ended, so its broadcast channel is to be deleted later.
-- KEYS[1] bc: the name's broadcast channel, hash
-- ARGV[1] time of the deletion, ms
-- Returns 1; 0: the name has no broadcast channel, or it is being deleted.
-- Atomic.
local state = redis.call('HGET', KEYS[1], 'state')
if not state or state == 'deleting' then return 0 end
redis.call('HSET', KEYS[1], 'delete_at', ARGV[1])
return 1
