-- Prolongs a lease that the caller still has, or gives it back.
-- KEYS[1] w: the push's tasks, or l: the name's leases; hash
-- ARGV[1] shard, 'c', 'r' or 'b'
-- ARGV[2] owner
-- ARGV[3] epoch
-- ARGV[4] lease, ms; 0 gives it back at once
-- Returns 1, or 0 if another owner has the lease or the task is finished.
local part = ARGV[1] .. ':'
if not has_lease(lease_of(KEYS[1], part), ARGV[3], ARGV[2]) then return 0 end
if ARGV[4] == '0' then
    give_back_lease(KEYS[1], part, redis_now())
else
    renew_lease(KEYS[1], part, redis_now(), ARGV[4])
end
return 1
