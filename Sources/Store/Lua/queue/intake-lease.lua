-- Takes or prolongs the lease to read an app's intake.
-- key lease: the owner, string
-- arguments owner, length: the caller, and how long the lease is to be, ms
-- Returns 1, or 0 if another owner has it.
local held = redis.call('GET', lease)
if held and held ~= owner then return 0 end
redis.call('SET', lease, owner, 'PX', length)
return 1
