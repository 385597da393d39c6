-- Writes the record of a schedule. An existing record stays as it is, so that a request can be repeated.
-- KEYS[1] at: the schedule, hash
-- ARGV[1] epoch ms at which the record expires
-- ARGV[2 ...] its fields and values
-- Returns its state: 'scheduled' for a new one.
-- Atomic.
local state = redis.call('HGET', KEYS[1], 'state')
if state then return state end
redis.call('HSET', KEYS[1], 'state', 'scheduled', unpack(ARGV, 2))
redis.call('PEXPIREAT', KEYS[1], ARGV[1])
return 'scheduled'
