-- Gives names to the reconciler of one worker. Their new time keeps them from other workers for now.
-- KEYS[1] open: names, zset by the time (ms) of their last commit or look
-- ARGV[1] the latest time (ms) of the names
-- ARGV[2] their new time, which no commit writes
-- ARGV[3] most names
-- Returns the names. They stay in the set, so that the next look finds them if the worker dies.
-- Atomic.
local names = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, ARGV[3])
for _, name in ipairs(names) do redis.call('ZADD', KEYS[1], ARGV[2], name) end
return names
