-- Writes what became of a request for approval. Of two decisions, an edit and a lapse the first one counts.
-- key at: the schedule, hash
-- argument request: the request that is decided
-- argument expiresAt: epoch ms at which the record expires
-- rest: the fields and values of the schedule now, its state among them
-- Returns 1, or 0 if the schedule does not wait for approval, or under another request. Nothing is written then.
local state, standing = unpack(redis.call('HMGET', at, 'state', 'request'))
if state ~= 'awaiting_approval' or standing ~= request then return 0 end
redis.call('HSET', at, unpack(ARGV, rest))
redis.call('PEXPIREAT', at, expiresAt)
return 1
