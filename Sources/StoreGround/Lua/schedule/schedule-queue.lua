-- Puts schedules into the app's timer if there is room for all of them.
-- key at: schedules, zset by due time (ms)
-- key names: their names by id, hash
-- argument most: most schedules of an app
-- rest: due ms, id and name of each; name '' = it is not noted
-- A repeated request does not move a schedule to a later time, because it may have been replaced since. A worker that
-- finds the timer early sets it right.
-- Returns 1, or 0 if there is no room. Nothing is written then.
local new = 0
for i = rest + 1, #ARGV, 3 do if not redis.call('ZSCORE', at, ARGV[i]) then new = new + 1 end end
if redis.call('ZCARD', at) + new > tonumber(most) then return 0 end
for i = rest, #ARGV, 3 do
    redis.call('ZADD', at, 'LT', ARGV[i], ARGV[i + 1])
    if ARGV[i + 2] ~= '' then redis.call('HSET', names, ARGV[i + 1], ARGV[i + 2]) end
end
return 1
