-- Puts another publish, or another time, into a schedule that waits. A claimed or final schedule stays as it is.
-- key at: the schedule, hash
-- argument expiresAt: epoch ms at which the record expires
-- argument absent: how many fields to remove first
-- rest: those fields, then the new fields and values, its state among them
-- Returns the state that it had; false if there is no such schedule. One that waited was replaced.
local state = redis.call('HGET', at, 'state')
if state ~= 'scheduled' then return state end
redis.call('HDEL', at, unpack(ARGV, rest, rest + absent - 1))
redis.call('HSET', at, unpack(ARGV, rest + absent))
redis.call('PEXPIREAT', at, expiresAt)
return state
