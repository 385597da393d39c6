-- The name has ended: its channel is to be deleted at a time.
-- KEYS  1 bc
-- ARGV  1 ms
-- Returns 1, or 0: it has none, or it is being deleted.
local state = redis.call('HGET', KEYS[1], 'state')
if not state or state == 'deleting' then return 0 end
redis.call('HSET', KEYS[1], 'delete_at', ARGV[1])
return 1
