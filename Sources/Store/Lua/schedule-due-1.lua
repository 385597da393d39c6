-- The schedules of an app that are due by Redis's clock, so that no worker's own clock can send one early.
-- KEYS  1 at (zset of schedules by due ms)
-- ARGV  1 at most so many
-- Returns {now ms, id, …}
local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, ARGV[1])
return {now, unpack(due)}
