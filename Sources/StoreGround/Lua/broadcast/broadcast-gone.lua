-- APNs has deleted a broadcast channel, or does not know it.
-- key bc: the name's broadcast channel, hash
-- argument id: broadcast channel id
-- argument now: the caller's time, ms
-- Returns 'deleted': it was to be deleted. 'wanted': a worker is to make another one. '': it is not the name's.
local state, known = unpack(redis.call('HMGET', bc, 'state', 'id'))
if known ~= id then return '' end
if state == 'deleting' then
    redis.call('DEL', bc)
    return 'deleted'
end
redis.call('HSET', bc, 'state', 'wanted', 'since', now)
redis.call('HDEL', bc, 'id', 'created')
return 'wanted'
