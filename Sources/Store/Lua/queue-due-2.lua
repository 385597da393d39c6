-- Moves one due task into a stream: exactly one of many workers does it.
-- KEYS  1 due (zset of tasks by due ms)  2 the stream
-- ARGV  1 the task, as a member  2 now ms  then its fields and values for the stream
-- Returns 1 if it was moved, 0 if another did it or it was put off since.
local score = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not score or tonumber(score) > tonumber(ARGV[2]) then return 0 end
-- In this order: an error ends a script half way, and the task must stay where it is.
redis.call('XADD', KEYS[2], '*', unpack(ARGV, 3))
redis.call('ZREM', KEYS[1], ARGV[1])
return 1
