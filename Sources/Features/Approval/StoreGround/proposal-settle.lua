-- Writes the next state of a proposal: a decision, a withdrawal, its lapse, or the end of an approved publish.
-- Of two decisions, an edit and a lapse the first one counts.
-- key at: the proposal, hash
-- key open: the app's proposals that are not over, zset by when they lapse (ms)
-- key over: the app's proposals that are over, zset by when they ended (ms)
-- key unread: the asker's proposals that are over and whose outcome the asker has not read, zset by when they ended (ms)
-- argument id: its 16 bytes
-- argument from: the state that it must be in
-- argument seen: the request that it must be under; '' = any
-- argument to: its state from now on
-- argument now: the caller's time, ms
-- argument kept: ms for which a record is kept from now on
-- argument most: how many proposals are listed as over
-- argument tells: 1 = the asker has to hear of the outcome
-- rest: further fields and values
-- Returns 1, or 0 if it is in another state, or under another request. Nothing is written then.
-- An approved proposal stays in `open`, before all that wait, until its publish is accepted: if the process dies in
-- between, a gateway finds it there (`Proposals.due`) and publishes it under the same ids.
local state, request = unpack(redis.call('HMGET', at, 'state', 'request'))
if state ~= from or seen ~= '' and request ~= seen then return 0 end
redis.call('HSET', at, 'state', to, unpack(ARGV, rest))
redis.call('PEXPIRE', at, kept)
if to == 'approved' then
    redis.call('ZADD', open, 0, id)
    return 1
end
redis.call('ZREM', open, id)
redis.call('ZADD', over, now, id)
redis.call('ZREMRANGEBYSCORE', over, '-inf', string.format('(%.0f', now - kept))
redis.call('ZREMRANGEBYRANK', over, 0, -1 - most)
redis.call('PEXPIRE', over, kept)
if tells == '1' then
    redis.call('ZADD', unread, now, id)
    redis.call('ZREMRANGEBYRANK', unread, 0, -1 - most)
    redis.call('PEXPIRE', unread, kept)
end
return 1
