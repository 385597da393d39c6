-- Puts another publish, or another time, into a schedule that waits. A claimed or final schedule stays as it is.
-- KEYS[1] at: the schedule, hash
-- ARGV[1] epoch ms at which the record expires
-- ARGV[2] how many fields to remove first
-- ARGV[3 ...] those fields, then the new fields and values
-- Returns the state that it has: 'scheduled' if it was replaced; false if there is no such schedule.
-- Atomic.
local state = redis.call('HGET', KEYS[1], 'state')
if state ~= 'scheduled' then return state end
redis.call('HDEL', KEYS[1], unpack(ARGV, 3, ARGV[2] + 2))
redis.call('HSET', KEYS[1], unpack(ARGV, ARGV[2] + 3))
redis.call('PEXPIREAT', KEYS[1], ARGV[1])
return state
