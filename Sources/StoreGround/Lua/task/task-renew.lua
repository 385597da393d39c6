-- Prolongs a lease that the caller still has, or gives it back.
-- uses time, lone, lease
-- key leases: the push's tasks, or l: the name's leases; hash
-- key n: name meta, hash
-- argument shard: shard, 'c', 'r' or 'b'
-- arguments owner, epoch: of the caller's lease
-- argument length: how long the lease is to be, ms; 0 gives it back at once
-- Returns 1, or 0 if another owner has the lease or the task is finished.
local part = shard .. ':'
if shard == '0/1' then unpack_lone(n) end
if not has_lease(lease_of(leases, part), epoch, owner) then return 0 end
if length == '0' then
    give_back_lease(leases, part, redis_now())
else
    renew_lease(leases, part, redis_now(), length)
end
return 1
