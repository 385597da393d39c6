-- Notes that all shards of a push are in the stream.
-- key w: the push's tasks, hash
-- Returns 1, or 0 if the push has no tasks any more because it is finished.
if redis.call('HEXISTS', w, 'shards') == 0 then return 0 end
redis.call('HSET', w, 'planned', 1)
return 1
