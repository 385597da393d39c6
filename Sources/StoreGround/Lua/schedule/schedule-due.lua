-- The schedules of an app that are due by Redis's clock, so that a worker whose clock is fast sends none early.
-- uses time
-- key at: schedules, zset by due time (ms)
-- argument after: only those behind this one; empty = from the first on
-- argument most: most schedules
-- Returns {now ms, id, …}, or {now ms, false}: the one in `after` is gone.
local now = string.format('%.0f', redis_now())
local from = 0
if after ~= '' then
    local rank = redis.call('ZRANK', at, after)
    if not rank then return {now, false} end
    from = rank + 1
end
-- With a rank instead of LIMIT, Redis does not count its way to the first one.
local due = redis.call('ZRANGE', at, from, from + most - 1)
local count = redis.call('ZCOUNT', at, '-inf', now) - from
for index = math.max(count, 0) + 1, #due do due[index] = nil end
return {now, unpack(due)}
