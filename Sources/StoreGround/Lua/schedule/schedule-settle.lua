-- Writes down what became of a claimed schedule, or cancels one that waits.
-- key at: the schedule, hash
-- argument from: the states that it may be in, with a space between them
-- argument to: the new state: 'sent', 'failed', 'cancelled', or 'scheduled' again
-- argument reason: reason, or ''
-- argument now: the caller's time, ms
-- argument kept: ms for which a final schedule is kept
-- argument heldUntil: for 'scheduled' again: no worker claims it before this time, ms
-- Returns the state that it has afterwards, or false if there is no such schedule.
local state = redis.call('HGET', at, 'state')
if not state or not (' ' .. from .. ' '):find(' ' .. state .. ' ', 1, true) then return state end
redis.call('HSET', at, 'state', to, 'reason', reason, 'until', heldUntil)
if to ~= 'scheduled' then
    redis.call('HSET', at, 'finished', now)
    redis.call('PEXPIRE', at, kept)
end
return to
