-- Gives out names to be looked after, each to one worker: for others its time is now.
-- KEYS  1 open (zset of names by the ms of their last commit or look)
-- ARGV  1 names with a time up to this (ms)  2 their new time, which no commit writes  3 at most so many
-- Returns the names. They stay in the set: a worker that dies leaves them to the next look.
local names = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, ARGV[3])
for _, name in ipairs(names) do redis.call('ZADD', KEYS[1], ARGV[2], name) end
return names
