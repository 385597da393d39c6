-- Writes down what became of a claimed schedule, or cancels one that waits.
-- KEYS[1] at: the schedule, hash
-- ARGV[1] the state that it must be in: 'taken' or 'scheduled'
-- ARGV[2] the new state: 'sent', 'failed', 'cancelled', or 'scheduled' again
-- ARGV[3] reason, or ''
-- ARGV[4] now, ms
-- ARGV[5] ms for which a final schedule is kept
-- ARGV[6] for 'scheduled' again: no worker claims it before this time, ms
-- Returns the state that it has afterwards, or false if there is no such schedule.
-- Atomic.
local state = redis.call('HGET', KEYS[1], 'state')
if state ~= ARGV[1] then return state end
redis.call('HSET', KEYS[1], 'state', ARGV[2], 'reason', ARGV[3], 'until', ARGV[6])
if ARGV[2] ~= 'scheduled' then
    redis.call('HSET', KEYS[1], 'finished', ARGV[4])
    redis.call('PEXPIRE', KEYS[1], ARGV[5])
end
return ARGV[2]
