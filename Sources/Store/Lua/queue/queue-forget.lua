-- Removes a name that has no work left, unless its time was set since the caller looked at it.
-- KEYS[1] open, or bc: names, zset by time (ms)
-- ARGV[1] name
-- ARGV[2] its score when the caller looked at it
-- Returns 1 if it was removed, else 0.
-- Atomic.
if redis.call('ZSCORE', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
return redis.call('ZREM', KEYS[1], ARGV[1])
