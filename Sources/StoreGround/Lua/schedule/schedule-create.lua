-- Writes the record of a schedule. An existing record stays as it is, so that a request can be repeated.
-- key at: the schedule, hash
-- argument expiresAt: epoch ms at which the record expires
-- rest: its fields and values, its state among them
-- Returns 1, or 0 if there was a record.
if redis.call('EXISTS', at) == 1 then return 0 end
redis.call('HSET', at, unpack(ARGV, rest))
redis.call('PEXPIREAT', at, expiresAt)
return 1
