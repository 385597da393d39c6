-- Claims the right to make and delete an app's broadcast channels. One worker at a time has it.
-- uses time, lease
-- key bcl: lease and intent, hash
-- arguments owner, length: the caller, and how long its lease is to be, ms
-- Returns {'held', ms left}: another worker has the lease.
--   {'claimed', epoch, intended name, its broadcast channel id}: name and id are set only if the previous owner died
--     while it created one, and '' otherwise. The id alone is '' if the channel may not exist.
local now = redis_now()
local lease, name, id = lease_of(bcl, '', 'name', 'id')
local held = lease_left(bcl, '', lease, now)
if held then return {'held', held} end
return {'claimed', claim_lease(bcl, '', lease, owner, now, length), name or '', id or ''}
