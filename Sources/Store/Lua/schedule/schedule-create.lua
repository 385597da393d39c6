-- Writes the record of a schedule. An existing record stays as it is, so that a request can be repeated.
-- key at: the schedule, hash
-- argument expiresAt: epoch ms at which the record expires
-- rest: its fields and values
-- Returns its state: 'scheduled' for a new one.
local state = redis.call('HGET', at, 'state')
if state then return state end
redis.call('HSET', at, 'state', 'scheduled', unpack(ARGV, rest))
redis.call('PEXPIREAT', at, expiresAt)
return 'scheduled'
