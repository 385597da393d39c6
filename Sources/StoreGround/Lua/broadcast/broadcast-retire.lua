-- The name is closed, so its broadcast channel is to be deleted later.
-- key bc: the name's broadcast channel, hash
-- argument at: time of the deletion, ms
-- Returns 1; 0: the name has no broadcast channel, or it is being deleted.
local state = redis.call('HGET', bc, 'state')
if not state or state == 'deleting' then return 0 end
redis.call('HSET', bc, 'delete_at', at)
return 1
