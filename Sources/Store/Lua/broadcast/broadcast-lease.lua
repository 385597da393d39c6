-- Claims the right to make and delete an app's broadcast channels. One worker at a time has it.
-- KEYS[1] bcl: lease and intent, hash
-- ARGV[1] owner
-- ARGV[2] lease, ms
-- Returns {'held', ms left}: another worker has the lease.
--   {'claimed', epoch, intended name, its broadcast channel id}: name and id are '' unless the owner before died while
--     it made a channel. The id alone is '' if the channel may not exist.
-- Atomic.
local now = redis_now()
local lease = lease_of(KEYS[1], '', 'name', 'id')
local held = lease_left(KEYS[1], '', lease, now)
if held then return {'held', held} end
local epoch = claim_lease(KEYS[1], '', lease, ARGV[1], now, ARGV[2])
return {'claimed', epoch, lease[5] or '', lease[6] or ''}
