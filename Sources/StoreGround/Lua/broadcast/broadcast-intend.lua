-- Writes one step of making a broadcast channel, under the app's lease, and prolongs the lease.
-- uses time, lease
-- key bcl: the app's lease for broadcast channels, hash
-- key bcn: broadcast channel id → name, hash
-- argument epoch: of the caller's lease
-- argument length: how long the lease is to be, ms; 0 gives it back
-- argument step: 'keep': prolong the lease only. 'intend': a channel is about to be made for the name.
--   'made': it has this id. 'forget': no channel is being made.
-- argument name: of the activity
-- argument id: broadcast channel id
-- Returns 1, or 0 if another worker has the lease. Nothing was changed then.
if redis.call('HGET', bcl, 'e') ~= epoch then return 0 end
renew_lease(bcl, '', redis_now(), length)
if step == 'intend' then
    redis.call('HSET', bcl, 'name', name)
    redis.call('HDEL', bcl, 'id')
elseif step == 'made' then
    redis.call('HSET', bcl, 'id', id)
    redis.call('HSET', bcn, id, name)
elseif step == 'forget' then
    redis.call('HDEL', bcl, 'name', 'id')
end
return 1
