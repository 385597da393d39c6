-- Gives names to the reconciler of one worker. Their new time keeps them from other workers for now.
-- key open: names, zset by the time (ms) of their last commit or look
-- argument before: the latest time (ms) of the names
-- argument score: their new time, which no commit writes
-- argument most: most names
-- Returns the names. They stay in the set, so that the next look finds them if the worker dies.
local names = redis.call('ZRANGEBYSCORE', open, '-inf', before, 'LIMIT', 0, most)
for _, name in ipairs(names) do redis.call('ZADD', open, score, name) end
return names
