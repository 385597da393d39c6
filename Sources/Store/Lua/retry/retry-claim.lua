-- Claims a name's waiting channels.
-- KEYS[1] l: the name's leases, hash
-- KEYS[2] r: waiting channels, zset by due time (ms)
-- KEYS[3] o: pending removals, hash
-- ARGV[1] owner
-- ARGV[2] lease, ms
-- ARGV[3] retention, ms
-- ARGV[4] most lapses in a row without progress
-- Returns {'idle'}: no channel waits and no removal is pending.
--   {'held', ms left}: another owner has a live lease.
--   {'claimed', epoch, pending removals, poison 0|1}: poison 1 if more than ARGV[4] owners in a row crashed or stalled.
-- Atomic.
local removals = redis.call('HLEN', KEYS[3])
if removals == 0 and redis.call('EXISTS', KEYS[2]) == 0 then return {'idle'} end
local now = redis_now()
local lease = lease_of(KEYS[1], 'r:')
local held = lease_left(KEYS[1], 'r:', lease, now)
if held then return {'held', held} end
local lapses = lapses_of(lease)
local epoch = claim_lease(KEYS[1], 'r:', lease, ARGV[1], now, ARGV[2], lapses)
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return {'claimed', epoch, removals, lapses > tonumber(ARGV[4]) and 1 or 0}
