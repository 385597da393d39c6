-- Puts schedules into the app's timer if there is room for all of them.
-- KEYS[1] at: schedules, zset by due time (ms)
-- ARGV[1] most schedules of an app
-- ARGV[2 ...] due ms and id of each
-- Returns 1, or 0 if there is no room. Nothing is written then.
-- Atomic.
local new = 0
for i = 3, #ARGV, 2 do
    if not redis.call('ZSCORE', KEYS[1], ARGV[i]) then new = new + 1 end
end
if redis.call('ZCARD', KEYS[1]) + new > tonumber(ARGV[1]) then return 0 end
for i = 2, #ARGV, 2 do redis.call('ZADD', KEYS[1], ARGV[i], ARGV[i + 1]) end
return 1
