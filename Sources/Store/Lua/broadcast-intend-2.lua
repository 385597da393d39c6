-- Steps of a creation, each under the app's lease, which it prolongs.
-- KEYS  1 bcl  2 bcn (channel id → name, hash)
-- ARGV  1 epoch  2 lease ms; 0 gives the lease back  3 step: 'keep' | 'intend' | 'made' | 'forget'  4 name  5 channel id
-- intend: a channel is about to be made for the name.  made: it has this id.  forget: nothing is in the making.
-- Returns 1, or 0 when the lease is another's: nothing is changed.
if redis.call('HGET', KEYS[1], 'e') ~= ARGV[1] then return 0 end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('HSET', KEYS[1], 'd', string.format('%.0f', now + ARGV[2]))
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
