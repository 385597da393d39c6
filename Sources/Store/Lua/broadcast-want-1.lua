-- Asks for a broadcast channel of a name, or says what there is.
-- KEYS  1 bc (the name's channel, hash)
-- ARGV  1 storage: none | newest  2 now ms
-- Returns the state it has then: {'wanted' | 'live' | 'deleting', storage}. A storage other than the one asked for is the
--         one that stays: APNs fixes it when a channel is made. What an earlier attempt failed with is forgotten.
local known = redis.call('HMGET', KEYS[1], 'state', 'storage')
if known[1] then
    if known[1] == 'wanted' then redis.call('HDEL', KEYS[1], 'error', 'attempts') end
    return {known[1], known[2]}
end
redis.call('HSET', KEYS[1], 'state', 'wanted', 'storage', ARGV[1], 'since', ARGV[2])
return {'wanted', ARGV[1]}
