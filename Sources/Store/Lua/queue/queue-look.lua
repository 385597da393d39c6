-- Gives names to the reconciler of one worker. Their new time keeps them from other workers for now.
-- key open: names, zset by the time (ms) of their last commit or look
-- arguments before, score, most: the latest time (ms) of the names; their new time, which no commit writes; most names
-- Returns the names. They stay in the set, so that the next look finds them if the worker dies.
local names = redis.call('ZRANGEBYSCORE', open, '-inf', before, 'LIMIT', 0, most)
for _, name in ipairs(names) do redis.call('ZADD', open, score, name) end
return names
