-- Claims one shard of a push, or the catch-up behind its shards.
-- KEYS[1] p: the push, hash
-- KEYS[2] w: its tasks, hash
-- KEYS[3] r: waiting channels, zset by due time (ms)
-- KEYS[4] o: pending removals, hash
-- KEYS[5] q: the name's unswept pushes, zset
-- ARGV[1] shard, or 'c' for the catch-up
-- ARGV[2] owner
-- ARGV[3] lease, ms
-- ARGV[4] most lapses in a row without progress
-- Returns {'gone'}: no such push.
--   {'done', unswept pushes of the name, due ms of its first waiting channel or '', pending removals, catch-up waits
--     0|1}: the part is finished. For the catch-up also if the shards are not finished.
--   {'held', ms left}: another owner has a live lease.
--   {'claimed', epoch, position, ahead, record, pending removals of other pushes, poison 0|1}: poison 1 if more than
--     ARGV[4] owners in a row crashed or stalled.
-- Atomic.
local record = redis.call('HGETALL', KEYS[1])
if #record == 0 then return {'gone'} end
local w, part = KEYS[2], ARGV[1] .. ':'
local lease = lease_of(w, part, part .. 'p', part .. 'a', part .. 'f', 'left', 'owed')
local position, ahead, isFinished, left, ownRemovals = unpack(lease, 5, 9)
local removals = redis.call('HLEN', KEYS[4])
local isExpanded = redis.call('HGET', KEYS[1], 'expanded') == '1'
local catchUpWaits = not isExpanded and left == '0'
if part == 'c:' then isFinished = not catchUpWaits end
if isExpanded or isFinished then
    return {'done', redis.call('ZCARD', KEYS[5]), first_due(KEYS[3]), removals, catchUpWaits and 1 or 0}
end
local now = redis_now()
local held = lease_left(w, part, lease, now)
if held then return {'held', held} end
local lapses = lapses_of(lease)
local epoch = claim_lease(w, part, lease, ARGV[2], now, ARGV[3], lapses)
if part == 'c:' then
    -- Each owner of the catch-up numbers its pages anew.
    position, ahead = nil, nil
    redis.call('HDEL', w, 'c:p', 'c:a')
end
if redis.call('PTTL', w) < 0 then redis.call('PEXPIRE', w, math.max(redis.call('PTTL', KEYS[1]), 1)) end
return {'claimed', epoch, position or '0', ahead or '', record, removals - tonumber(ownRemovals or 0),
    lapses > tonumber(ARGV[4]) and 1 or 0}
