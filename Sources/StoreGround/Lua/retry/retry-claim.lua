-- Claims a name's waiting channels.
-- uses time, lease
-- key l: the name's leases, hash
-- key r: waiting channels, zset by due time (ms)
-- key o: pending removals, hash
-- arguments owner, length: the caller, and how long its lease is to be, ms
-- argument retention: how long the data is kept, ms
-- Returns {'idle'}: no channel waits and no removal is pending.
--   {'held', ms left}: another owner has a live lease.
--   {'claimed', epoch, pending removals, lapses}: lapses = how many owners in a row crashed or stalled without progress.
local removals = redis.call('HLEN', o)
if removals == 0 and redis.call('EXISTS', r) == 0 then return {'idle'} end
local now = redis_now()
local lease = lease_of(l, 'r:')
local held = lease_left(l, 'r:', lease, now)
if held then return {'held', held} end
local epoch, lapses = claim_task(l, 'r:', lease, owner, now, length)
redis.call('PEXPIRE', l, retention)
return {'claimed', epoch, removals, lapses}
