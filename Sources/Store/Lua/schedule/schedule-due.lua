-- The schedules of an app that are due by Redis's clock, so that a worker whose clock is fast sends none early.
-- KEYS[1] at: schedules, zset by due time (ms)
-- ARGV[1] most schedules
-- Returns {now ms, id, …}.
-- Atomic; writes nothing.
local now = string.format('%.0f', redis_now())
local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, ARGV[1])
return {now, unpack(due)}
