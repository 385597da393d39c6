-- Notes that all shards of a push are in the stream.
-- KEYS  1 w
-- Returns 1, or 0 when the push has been swept meanwhile.
if redis.call('HEXISTS', KEYS[1], 'shards') == 0 then return 0 end
redis.call('HSET', KEYS[1], 'planned', 1)
return 1
