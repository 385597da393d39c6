-- Moves one due task into a stream. Only one of several workers does it.
-- key due: tasks, zset by due time (ms)
-- key stream: the stream
-- argument task: the task, as a member of due
-- argument now: the caller's time, ms
-- rest: the fields and values of its stream entry
-- Returns 1: moved. 0: another worker moved it, or it has a later time by now.
local score = redis.call('ZSCORE', due, task)
if not score or tonumber(score) > tonumber(now) then return 0 end
-- XADD comes first: an error ends a script half way, and the task must stay in the timer then.
redis.call('XADD', stream, '*', unpack(ARGV, rest))
redis.call('ZREM', due, task)
return 1
