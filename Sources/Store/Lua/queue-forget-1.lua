-- Forgets a name that has no unswept push, unless something was published to it since it was looked at.
-- KEYS  1 open (zset of names by the time of their last commit)
-- ARGV  1 the name's route  2 its score when it was looked at
-- Returns 1 if it was forgotten.
if redis.call('ZSCORE', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
return redis.call('ZREM', KEYS[1], ARGV[1])
