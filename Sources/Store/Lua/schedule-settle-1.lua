-- What became of a schedule that was taken in hand, or that is deleted before.
-- KEYS  1 the schedule (hash)
-- ARGV  1 the state it must be in: 'taken' or 'scheduled'  2 the new state: sent, failed, cancelled, or scheduled (again)
--       3 reason or ''  4 now ms  5 ms to keep a final one  6 of one that is scheduled again: nobody takes it before, ms
-- Returns the state that stands afterwards, or false if there is no such schedule.
local state = redis.call('HGET', KEYS[1], 'state')
if state ~= ARGV[1] then return state end
redis.call('HSET', KEYS[1], 'state', ARGV[2], 'reason', ARGV[3], 'until', ARGV[6])
if ARGV[2] ~= 'scheduled' then
    redis.call('HSET', KEYS[1], 'finished', ARGV[4])
    redis.call('PEXPIRE', KEYS[1], ARGV[5])
end
return ARGV[2]
