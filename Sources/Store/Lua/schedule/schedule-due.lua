-- The schedules of an app that are due by Redis's clock, so that a worker whose clock is fast sends none early.
-- key at: schedules, zset by due time (ms)
-- argument most: most schedules
-- Returns {now ms, id, …}.
local now = string.format('%.0f', redis_now())
local due = redis.call('ZRANGEBYSCORE', at, '-inf', now, 'LIMIT', 0, most)
return {now, unpack(due)}
