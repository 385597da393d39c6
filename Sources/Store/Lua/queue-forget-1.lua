-- Forgets a name that has no work left, unless its time was set since it was looked at.
-- KEYS  1 open, or bc (zset of names by ms)
-- ARGV  1 the name  2 its score when it was looked at
-- Returns 1 if it was forgotten.
if redis.call('ZSCORE', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
return redis.call('ZREM', KEYS[1], ARGV[1])
