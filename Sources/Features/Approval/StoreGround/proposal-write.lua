-- Writes a proposal that waits: a new one, or another body in the place of the one that its editor has seen.
-- key at: the proposal, hash
-- key open: the app's proposals that are not over, zset by when they lapse (ms)
-- argument id: its 16 bytes
-- argument seen: the request that the editor has seen; '' = a new proposal
-- argument now: the caller's time, ms
-- argument lapses: when it lapses, ms
-- argument expiresAt: when its record expires, ms
-- argument most: how many proposals of an app may wait
-- rest: its fields and values, its state among them
-- Returns 1: written. 0: it exists, or it is over, or under another request. -1: too many wait.
-- Both keys change together, so a crash leaves nothing to correct.
local state, request = unpack(redis.call('HMGET', at, 'state', 'request'))
if seen == '' then
    if state then return 0 end
    if redis.call('ZCOUNT', open, now, '+inf') >= tonumber(most) then return -1 end
elseif state ~= 'waiting' or request ~= seen then
    return 0
end
redis.call('HSET', at, unpack(ARGV, rest))
redis.call('PEXPIREAT', at, expiresAt)
redis.call('ZADD', open, lapses, id)
return 1
