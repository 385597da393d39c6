-- Puts another publish, or another time, into a schedule that waits. What has been taken in hand or is over stays as it is.
-- KEYS  1 the schedule (hash)
-- ARGV  1 epoch ms at which the record may be forgotten  2 how many fields to take away first  then those, then fields and values
-- Returns the state that stands: 'scheduled' if it was replaced; false if there is no such schedule.
local state = redis.call('HGET', KEYS[1], 'state')
if state ~= 'scheduled' then return state end
redis.call('HDEL', KEYS[1], unpack(ARGV, 3, ARGV[2] + 2))
redis.call('HSET', KEYS[1], unpack(ARGV, ARGV[2] + 3))
redis.call('PEXPIREAT', KEYS[1], ARGV[1])
return state
