-- Takes or prolongs a lease of an app for work that one process does, such as to send its events, or gives it back.
-- key lease: the owner, string
-- arguments owner, length: the caller, and how long the lease is to be, ms; 0 = it is given back
-- Returns 1, or 0 if another owner has it.
local held = redis.call('GET', lease)
if held and held ~= owner then
    -- Redis keeps the end of the lease as a time. After the clock was set back, the lease has its length from now on.
    if redis.call('PTTL', lease) > tonumber(length) and length ~= '0' then redis.call('PEXPIRE', lease, length) end
    return 0
end
if length == '0' then redis.call('DEL', lease) else redis.call('SET', lease, owner, 'PX', length) end
return 1
