-- Says which broadcast of a name goes out next, and claims the lease to send it. Broadcasts go out one at a time, in
-- the order in which their pushes began. A later push in the queue may supersede an earlier one. While the channel is
-- wanted, a push expires in the queue at its deadline, because the channel may never be made.
-- uses time, since, lease, broadcast, supersede-broadcasts, broadcast-walk
-- keys bc, bt: the name's broadcast channel, hash; its broadcast queue, zset by sequence number
-- key l: the name's leases, hash
-- arguments owner, length: the caller, and how long its lease is to be, ms
-- arguments interval, longestWait: least ms between two updates; longest wait for the channel, ms
-- argument most: most pushes that one call looks at
-- argument retention: how long the data is kept, ms
-- arguments ps, ws, dls: common prefixes of the p, w and dl keys
-- rest: pushes that may expire here, because they are on the app's list of dead letters
-- Returns a word, how many pushes left the queue superseded, cancelled and expired, the ids of those that became final,
-- then what belongs to the word:
--   'idle': no push waits.
--   'held', ms left: another owner has a live lease.
--   'wait', ms left: until the channel is made, a backoff is over or the interval is over. 0: call again at once.
--   'expires', push ids: these pushes expire. Put them on the list, then call again with them.
--   'send', epoch, push id, broadcast channel id, storage, attempts so far, record.
-- Keys found in data: docs/keyspace.md.
most = tonumber(most)
local counts = {superseded = 0, cancelled = 0, expired = 0}
local function answer(word, ...)
    return {word, counts.superseded, counts.cancelled, counts.expired, table.concat(finalPushes, ' '), ...}
end

if redis.call('EXISTS', bt) == 0 then return answer('idle') end
local now = redis_now()
local stamp = string.format('%.0f', now)
local lease = lease_of(l, 'b:')
local held = lease_left(l, 'b:', lease, now)
if held then return answer('held', held) end
local state, channel, storage, due, tried, tries, sent, walk =
    unpack(redis.call('HMGET', bc, 'state', 'id', 'storage', 'due', 'tried', 'tries', 'sent', 'walk'))
local isLive = state == 'live'
local hasChannel = isLive or state == 'wanted'

local listed, expiring = {}, {}
for i = rest, #ARGV do listed[ARGV[i]] = true end
local function leaves(id, how)
    leave_broadcast(bt, ps, ws, dls, id, how, stamp, retention)
    counts[how] = counts[how] + 1
end
-- Returns the `supersede_fields` of a push. Nil if the push left the queue here, or expires.
local function look(id)
    if redis.call('HGET', ps .. id, 'state') ~= 'sending' or not hasChannel then
        -- The push was stopped or cancelled, or the name has no broadcast channel any more.
        leaves(id, 'cancelled')
        return nil
    end
    local push = supersede_fields_of(ps .. id)
    -- The sender handles the deadline if the channel is live: a push with little time left is tried once.
    if not isLive and deadline_of(push) <= now then
        if listed[id] then leaves(id, 'expired') else expiring[#expiring + 1] = id end
        return nil
    end
    return push
end

local ids, pushes = {}, {}
local looked = redis.call('ZRANGE', bt, 0, most - 1)
for _, id in ipairs(looked) do
    local push = look(id)
    if push then
        ids[#ids + 1], pushes[#pushes + 1] = id, push
        if not pushes[1].isSupersedable then break end
    end
end
if #expiring > 0 then return answer('expires', expiring) end
local first = first_to_send(pushes)
-- The last one before it waits until it is delivered, and goes out if it is cancelled, refused or expires.
for i = 1, first - 2 do leaves(ids[i], 'superseded') end
if redis.call('ZCARD', bt) == 0 then return answer('idle') end
local id, isSupersedable = ids[first], pushes[first] and pushes[first].isSupersedable
-- Call again if no push is left of those looked at, or if a push behind them may supersede the first.
local hasMoved = counts.superseded + counts.cancelled + counts.expired > 0
if not id or isSupersedable and hasMoved and #looked == most then return answer('wait', 0) end

if not isLive then
    local position, soonest = walk_on(bt, walk, most, now + longestWait, look)
    if #expiring > 0 then return answer('expires', expiring) end
    soonest = math.min(soonest, now + longestWait)
    redis.call('HSET', bc, 'walk', string.format('%.0f %.0f', position, soonest))
    return answer('wait', position > 0 and 50 or math.max(soonest - now, 50))
end

-- The last broadcast's settlement stored `sent` and, for a retry, `due`. If it lies ahead, both are over.
local last = since(tonumber(sent or 0), now)
local left = last < math.huge and tonumber(due or 0) - now or 0
if isSupersedable then left = math.max(left, interval - last) end
if left > 0 then return answer('wait', left) end
local epoch = claim_lease(l, 'b:', lease, owner, now, length)
redis.call('PEXPIRE', l, retention)
return answer('send', epoch, id, channel, storage, tried == id and tonumber(tries) or 0,
    redis.call('HGETALL', ps .. id))
