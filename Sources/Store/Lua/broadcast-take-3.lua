-- Says which broadcast of a name goes out next, and takes the lease to send it. One goes out at a time, in the order in which
-- their pushes were taken up; a supersedable one gives way to one behind it that takes its place. While the channel is wanted, a push
-- leaves the line at its deadline: perhaps the channel can never be made. One call looks at a bounded part of the line.
-- KEYS  1 bc (the name's channel)  2 bt (pushes that wait for their broadcast, zset by sequence)  3 l (lease, hash)
-- ARGV  1 owner  2 lease ms  3 the p keys' common prefix  4 the w keys'  5 retention ms  6 least ms between two updates
--       7 pushes in one look  8 longest wait for the channel, ms
-- Returns word, how many left the line superseded, how many cancelled, how many expired, then by the word
--         'idle': none waits.  'held', ms left: another owner's lease is live.
--         'wait', ms left: for the channel to be made, for a back-off, for the interval, or 0: the look is to go on.
--         'send', epoch, push id, channel id, storage, attempts so far, record
-- While the channel is wanted, bc's `walk` says how far the line was looked at, and the first deadline seen on the way.
local most = tonumber(ARGV[7])
if redis.call('EXISTS', KEYS[2]) == 0 then return {'idle', 0, 0, 0} end
local now = redis_now()
local stamp = string.format('%.0f', now)
local lease = redis.call('HMGET', KEYS[3], 'b:e', 'b:d')
if lease[2] and tonumber(lease[2]) > now then return {'held', 0, 0, 0, tonumber(lease[2]) - now} end
local channel = redis.call('HMGET', KEYS[1], 'state', 'id', 'storage', 'due', 'tried', 'tries', 'sent', 'walk')
local isLive = channel[1] == 'live'
local isThere = isLive or channel[1] == 'wanted'

local counts = {superseded = 0, cancelled = 0, expired = 0}
local function leaves(id, how)
    leave_broadcast(KEYS[2], ARGV[3], ARGV[4], id, how, stamp)
    counts[how] = counts[how] + 1
end
-- What decides about a push, and its deadline; nil if it has left the line.
local function look(id)
    if redis.call('HGET', ARGV[3] .. id, 'state') ~= 'sending' or not isThere then
        -- Stopped or cancelled meanwhile, or there is no channel any more.
        leaves(id, 'cancelled')
        return nil
    end
    local push = redis.call('HMGET', ARGV[3] .. id, unpack(standing))
    -- `until`; a record of before an upgrade has none.
    local deadline = tonumber(push[4] or '') or lives_until(push)
    -- Of a live channel the sender sees to it: one whose time is short is tried once.
    if not isLive and deadline <= now then
        leaves(id, 'expired')
        return nil
    end
    return push, deadline
end

local alive = {}
local looked = redis.call('ZRANGE', KEYS[2], 0, most - 1)
for _, id in ipairs(looked) do
    local push = look(id)
    if push then
        alive[#alive + 1] = {id, push}
        if alive[1][2][1] ~= '1' then break end
    end
end
-- Of those behind a push, the one that lives longest decides whether it gives way. Behind a push without a state nobody is asked:
-- what waits before that is the state that it leaves.
local gives, longest = {}, nil
for i = #alive, 1, -1 do
    local push = alive[i][2]
    gives[i] = longest and takes_place(longest, push)
    if push[3] == '1' then
        longest = nil
    elseif not longest or lives_until(push) > lives_until(longest) then
        longest = push
    end
end
local first = 1
while gives[first] do
    leaves(alive[first][1], 'superseded')
    first = first + 1
end
local left = redis.call('ZCARD', KEYS[2])
if left == 0 then return {'idle', counts.superseded, counts.cancelled, counts.expired} end
local isSupersedable = alive[first] and alive[first][2][1] == '1'
-- Nothing of what was looked at is left, or what stands behind may take the place of the first: it has moved up.
local hasMoved = counts.superseded + counts.cancelled + counts.expired > 0
if not alive[first] or isSupersedable and hasMoved and #looked == most then
    return {'wait', counts.superseded, counts.cancelled, counts.expired, 0}
end

if not isLive then
    local from, soonest = string.match(channel[8] or '', '^(%d+) (%d+)$')
    from, soonest = tonumber(from or 0), tonumber(soonest or 0)
    if from == 0 then soonest = now + ARGV[8] end
    local stay = 0
    local ids = redis.call('ZRANGE', KEYS[2], from, from + most - 1)
    for _, next in ipairs(ids) do
        local _, deadline = look(next)
        if deadline then
            stay = stay + 1
            soonest = math.min(soonest, deadline)
        end
    end
    from = #ids == most and from + stay or 0
    redis.call('HSET', KEYS[1], 'walk', string.format('%.0f %.0f', from, soonest))
    left = from > 0 and 50 or math.max(soonest - now, 50)
    return {'wait', counts.superseded, counts.cancelled, counts.expired, left}
end

local id = alive[first][1]
left = tonumber(channel[4] or 0) - now
if isSupersedable and channel[7] then left = math.max(left, channel[7] + ARGV[6] - now) end
if left > 0 then return {'wait', counts.superseded, counts.cancelled, counts.expired, left} end
local epoch = tonumber(lease[1] or 0) + 1
redis.call('HSET', KEYS[3], 'b:e', epoch, 'b:o', ARGV[1], 'b:d', string.format('%.0f', now + ARGV[2]))
redis.call('PEXPIRE', KEYS[3], ARGV[5])
return {'send', counts.superseded, counts.cancelled, counts.expired, epoch, id, channel[2], channel[3],
    channel[5] == id and tonumber(channel[6]) or 0, redis.call('HGETALL', ARGV[3] .. id)}
