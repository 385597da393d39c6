-- Says which broadcast of a name goes out next, and claims the lease to send it. Broadcasts go out one at a time, in
-- the order in which their pushes began. A later push in the queue may supersede an earlier one. While the channel is
-- wanted, a push expires in the queue at its deadline, because the channel may never be made.
-- keys bc, bt: the name's broadcast channel, hash; its broadcast queue, zset by sequence number
-- key l: the name's leases, hash
-- arguments owner, length: the caller, and how long its lease is to be, ms
-- arguments interval, longestWait: least ms between two updates; longest wait for the channel, ms
-- argument most: most pushes that one call looks at
-- argument retention: how long the data is kept, ms
-- arguments ps, ws, dls: common prefixes of the p, w and dl keys
-- rest: pushes that may expire here, because they are on the app's list of dead letters
-- Returns a word, how many pushes left the queue superseded, cancelled and expired, then what belongs to the word:
--   'idle': no push waits.
--   'held', ms left: another owner has a live lease.
--   'wait', ms left: until the channel is made, a backoff is over or the interval is over. 0: call again at once.
--   'expires', push ids: these pushes expire. Put them on the list, then call again with them.
--   'send', epoch, push id, broadcast channel id, storage, attempts so far, record.
-- Keys found in data: docs/keyspace.md.
-- Atomic. bc's `walk` says how far the queue was looked at while the channel is wanted, and the first deadline found on
-- the way.
most = tonumber(most)
if redis.call('EXISTS', bt) == 0 then return {'idle', 0, 0, 0} end
local now = redis_now()
local stamp = string.format('%.0f', now)
local lease = lease_of(l, 'b:')
local held = lease_left(l, 'b:', lease, now)
if held then return {'held', 0, 0, 0, held} end
local channel = redis.call('HMGET', bc, 'state', 'id', 'storage', 'due', 'tried', 'tries', 'sent', 'walk')
local isLive = channel[1] == 'live'
local isThere = isLive or channel[1] == 'wanted'

local counts = {superseded = 0, cancelled = 0, expired = 0}
local listed, expiring = {}, {}
for i = rest, #ARGV do listed[ARGV[i]] = true end
local function leaves(id, how)
    leave_broadcast(bt, ps, ws, dls, id, how, stamp)
    counts[how] = counts[how] + 1
end
local function expires() return {'expires', counts.superseded, counts.cancelled, counts.expired, expiring} end
-- Returns the fields that decide about a push, and its deadline. Nil if the push left the queue here, or expires.
local function look(id)
    if redis.call('HGET', ps .. id, 'state') ~= 'sending' or not isThere then
        -- The push was stopped or cancelled, or the name has no broadcast channel any more.
        leaves(id, 'cancelled')
        return nil
    end
    local push = redis.call('HMGET', ps .. id, unpack(supersede_fields))
    -- `until`; a record from before an upgrade has none.
    local deadline = tonumber(push[4] or '') or lives_until(push)
    -- The sender handles the deadline if the channel is live: a push with little time left is tried once.
    if not isLive and deadline <= now then
        if listed[id] then leaves(id, 'expired') else expiring[#expiring + 1] = id end
        return nil
    end
    return push, deadline
end

local alive = {}
local looked = redis.call('ZRANGE', bt, 0, most - 1)
for _, id in ipairs(looked) do
    local push = look(id)
    if push then
        alive[#alive + 1] = {id, push}
        if alive[1][2][1] ~= '1' then break end
    end
end
if #expiring > 0 then return expires() end
local first = first_to_send(alive)
for i = 1, first - 1 do leaves(alive[i][1], 'superseded') end
local left = redis.call('ZCARD', bt)
if left == 0 then return {'idle', counts.superseded, counts.cancelled, counts.expired} end
local isSupersedable = alive[first] and alive[first][2][1] == '1'
-- Call again if no push is left of those looked at, or if a push behind them may supersede the first.
local hasMoved = counts.superseded + counts.cancelled + counts.expired > 0
if not alive[first] or isSupersedable and hasMoved and #looked == most then
    return {'wait', counts.superseded, counts.cancelled, counts.expired, 0}
end

if not isLive then
    local from, soonest = string.match(channel[8] or '', '^(%d+) (%d+)$')
    from, soonest = tonumber(from or 0), tonumber(soonest or 0)
    if from == 0 then soonest = now + longestWait end
    local stay = 0
    local ids = redis.call('ZRANGE', bt, from, from + most - 1)
    for _, next in ipairs(ids) do
        local _, deadline = look(next)
        if deadline then
            stay = stay + 1
            soonest = math.min(soonest, deadline)
        end
    end
    if #expiring > 0 then return expires() end
    from = #ids == most and from + stay or 0
    redis.call('HSET', bc, 'walk', string.format('%.0f %.0f', from, soonest))
    left = from > 0 and 50 or math.max(soonest - now, 50)
    return {'wait', counts.superseded, counts.cancelled, counts.expired, left}
end

local id = alive[first][1]
left = tonumber(channel[4] or 0) - now
if isSupersedable and channel[7] then left = math.max(left, channel[7] + interval - now) end
if left > 0 then return {'wait', counts.superseded, counts.cancelled, counts.expired, left} end
local epoch = claim_lease(l, 'b:', lease, owner, now, length)
redis.call('PEXPIRE', l, retention)
return {'send', counts.superseded, counts.cancelled, counts.expired, epoch, id, channel[2], channel[3],
    channel[5] == id and tonumber(channel[6]) or 0, redis.call('HGETALL', ps .. id)}
