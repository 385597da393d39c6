-- Moves one due task into a stream. Only one of several workers does it.
-- KEYS[1] due: tasks, zset by due time (ms)
-- KEYS[2] the stream
-- ARGV[1] the task, as a member of due
-- ARGV[2] now, ms
-- ARGV[3 ...] the fields and values of its stream entry
-- Returns 1: moved. 0: another worker moved it, or it has a later time by now.
-- Atomic.
local score = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not score or tonumber(score) > tonumber(ARGV[2]) then return 0 end
-- XADD comes first: an error ends a script half way, and the task must stay in the timer then.
redis.call('XADD', KEYS[2], '*', unpack(ARGV, 3))
redis.call('ZREM', KEYS[1], ARGV[1])
return 1
