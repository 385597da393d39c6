-- Writes one step of making a broadcast channel, under the app's lease, and prolongs the lease.
-- KEYS[1] bcl: the app's lease for broadcast channels, hash
-- KEYS[2] bcn: broadcast channel id → name, hash
-- ARGV[1] epoch
-- ARGV[2] lease, ms; 0 gives it back
-- ARGV[3] 'keep': prolong the lease only. 'intend': a channel is about to be made for the name. 'made': it has this id.
--   'forget': no channel is being made.
-- ARGV[4] name
-- ARGV[5] broadcast channel id
-- Returns 1, or 0 if another worker has the lease. Nothing was changed then.
-- Atomic.
if redis.call('HGET', KEYS[1], 'e') ~= ARGV[1] then return 0 end
renew_lease(KEYS[1], '', redis_now(), ARGV[2])
if ARGV[3] == 'intend' then
    redis.call('HSET', KEYS[1], 'name', ARGV[4])
    redis.call('HDEL', KEYS[1], 'id')
elseif ARGV[3] == 'made' then
    redis.call('HSET', KEYS[1], 'id', ARGV[5])
    redis.call('HSET', KEYS[2], ARGV[5], ARGV[4])
elseif ARGV[3] == 'forget' then
    redis.call('HDEL', KEYS[1], 'name', 'id')
end
return 1
