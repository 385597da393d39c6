-- Fragment for leases. A lease is an epoch (`e`), an owner (`o`), a length (`l`, ms) and a deadline (`d`, ms on Redis's
-- clock) in a hash, with `part` before each field: '0/1:', 'c:', 'r:', 'b:' or ''. Only the latest epoch can settle.
-- `c` counts lapses: owners in a row that crashed or stalled without progress.

-- Reads a lease, and other fields of its hash in the same call. Returns the lease, then the values of those fields.
local function lease_of(key, part, ...)
    local values = redis.call('HMGET', key, part .. 'e', part .. 'o', part .. 'd', part .. 'c', ...)
    return {epoch = values[1], owner = values[2], deadline = values[3], lapses = values[4]}, unpack(values, 5)
end

local function has_lease(lease, epoch, owner) return lease.epoch == epoch and lease.owner == owner end

-- For how long an owner has the lease, ms, or nil. After the clock was set back: its length from now on. A lease that was
-- given back is free whatever its deadline.
local function lease_left(key, part, lease, now)
    local left = tonumber(lease.deadline or 0) - now
    if left <= 0 or lease.owner == '' then return nil end
    local length = tonumber(redis.call('HGET', key, part .. 'l') or left)
    if left <= length then return left end
    redis.call('HSET', key, part .. 'd', string.format('%.0f', now + length))
    return length
end

-- Claims a free lease for `length` ms and returns its epoch. lapses: nil if this lease does not count them
local function claim_lease(key, part, lease, owner, now, length, lapses)
    local epoch = tonumber(lease.epoch or 0) + 1
    local fields = {part .. 'e', epoch, part .. 'o', owner, part .. 'd', string.format('%.0f', now + length),
        part .. 'l', length}
    if lapses then fields[9], fields[10] = part .. 'c', lapses end
    redis.call('HSET', key, unpack(fields))
    return epoch
end

-- Claims the free lease of a task and counts its lapses. A lease that was given back has no owner, so that is no lapse.
-- Returns the epoch, and the lapses.
local function claim_task(key, part, lease, owner, now, length)
    local lapses = tonumber(lease.lapses or 0)
    if lease.owner and lease.owner ~= '' then lapses = lapses + 1 end
    return claim_lease(key, part, lease, owner, now, length, lapses), lapses
end

-- Prolongs a lease to `length` ms from now.
local function renew_lease(key, part, now, length)
    redis.call('HSET', key, part .. 'd', string.format('%.0f', now + length), part .. 'l', length)
end

-- A lease that was given back has no owner, so that a late renewal cannot revive it.
local function give_back_lease(key, part, now)
    redis.call('HSET', key, part .. 'o', '', part .. 'd', string.format('%.0f', now))
end
