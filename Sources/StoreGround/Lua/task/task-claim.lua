-- Claims one shard of a push, or the catch-up behind its shards.
-- uses time, queue, lease
-- key p: the push, hash
-- key w: its tasks, hash
-- key o: pending removals, hash
-- key r: waiting channels, zset by due time (ms)
-- key q: the name's unswept pushes, zset
-- argument shard: shard, or 'c' for the catch-up
-- arguments owner, length: the caller, and how long its lease is to be, ms
-- Returns {'gone'}: no such push.
--   {'done', unswept pushes of the name, due ms of its first waiting channel or '', pending removals, catch-up waits
--     0|1}: the part is finished. For the catch-up also if the shards are not finished.
--   {'held', ms left}: another owner has a live lease.
--   {'claimed', epoch, position, ahead, pending removals of other pushes, lapses, unswept pushes of the name}: lapses =
--     how many owners in a row crashed or stalled without progress. The caller reads the record afterwards.
local state, expanded = unpack(redis.call('HMGET', p, 'state', 'expanded'))
if not state then return {'gone'} end
local part = shard .. ':'
local lease, position, ahead, isFinished, left, ownRemovals =
    lease_of(w, part, part .. 'p', part .. 'a', part .. 'f', 'left', 'owed')
local removals = redis.call('HLEN', o)
local isExpanded = expanded == '1'
local catchUpWaits = not isExpanded and left == '0'
if part == 'c:' then isFinished = not catchUpWaits end
if isExpanded or isFinished then
    return {'done', redis.call('ZCARD', q), first_due(r), removals, catchUpWaits and 1 or 0}
end
local now = redis_now()
local held = lease_left(w, part, lease, now)
if held then return {'held', held} end
local epoch, lapses = claim_task(w, part, lease, owner, now, length)
if part == 'c:' then
    -- Each owner of the catch-up numbers its pages anew.
    position, ahead = nil, nil
    redis.call('HDEL', w, 'c:p', 'c:a')
end
if redis.call('PTTL', w) < 0 then redis.call('PEXPIRE', w, math.max(redis.call('PTTL', p), 1)) end
return {'claimed', epoch, position or '0', ahead or '', removals - tonumber(ownRemovals or 0), lapses,
    redis.call('ZCARD', q)}
