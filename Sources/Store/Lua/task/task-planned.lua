-- Notes that all shards of a push are in the stream.
-- KEYS[1] w: the push's tasks, hash
-- Returns 1, or 0 if the push has no tasks any more because it is finished.
if redis.call('HEXISTS', KEYS[1], 'shards') == 0 then return 0 end
redis.call('HSET', KEYS[1], 'planned', 1)
return 1
