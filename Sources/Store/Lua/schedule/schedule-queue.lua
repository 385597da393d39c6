-- Puts schedules into the app's timer if there is room for all of them.
-- key at: schedules, zset by due time (ms)
-- argument most: most schedules of an app
-- rest: due ms and id of each
-- A repeated request does not move a schedule to a later time, because it may have been replaced since. A worker that
-- finds the timer early sets it right.
-- Returns 1, or 0 if there is no room. Nothing is written then.
local new = 0
for i = rest + 1, #ARGV, 2 do if not redis.call('ZSCORE', at, ARGV[i]) then new = new + 1 end end
if redis.call('ZCARD', at) + new > tonumber(most) then return 0 end
for i = rest, #ARGV, 2 do redis.call('ZADD', at, 'LT', ARGV[i], ARGV[i + 1]) end
return 1
