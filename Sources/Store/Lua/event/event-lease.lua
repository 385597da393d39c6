-- Takes or prolongs the lease to send an app's webhook, or gives it back.
-- key lease: the owner, string
-- arguments owner, length: the caller, and how long the lease is to be, ms; 0 = it is given back
-- Returns 1, or 0 if another owner has it.
local held = redis.call('GET', lease)
if held and held ~= owner then return 0 end
if length == '0' then redis.call('DEL', lease) else redis.call('SET', lease, owner, 'PX', length) end
return 1
