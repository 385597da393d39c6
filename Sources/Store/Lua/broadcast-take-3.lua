-- Says which broadcast of a name goes out next, and takes the lease to send it. One goes out at a time, in the order in which
-- their pushes were taken up; a supersedable one gives way to one behind it that takes its place.
-- KEYS  1 bc (the name's channel)  2 bt (pushes that wait for their broadcast, zset by sequence)  3 l (lease, hash)
-- ARGV  1 owner  2 lease ms  3 the p keys' common prefix  4 the w keys'  5 retention ms  6 least ms between two updates
-- Returns word, how many left the line superseded, how many cancelled, then by the word
--         'idle': none waits.  'held', ms left: another owner's lease is live.
--         'wait', ms left: for the channel to be made, for a back-off, or for the interval.
--         'send', epoch, push id, channel id, storage, attempts so far, record
local line = redis.call('ZRANGE', KEYS[2], 0, -1)
if #line == 0 then return {'idle', 0, 0} end
local now = redis_now()
local lease = redis.call('HMGET', KEYS[3], 'b:e', 'b:d')
if lease[2] and tonumber(lease[2]) > now then return {'held', 0, 0, tonumber(lease[2]) - now} end
local channel = redis.call('HMGET', KEYS[1], 'state', 'id', 'storage', 'due', 'tried', 'tries', 'sent')
local isThere = channel[1] == 'live' or channel[1] == 'wanted'

local alive, superseded, cancelled = {}, 0, 0
for _, id in ipairs(line) do
    if redis.call('HGET', ARGV[3] .. id, 'state') == 'sending' and isThere then
        alive[#alive + 1] = {id, redis.call('HMGET', ARGV[3] .. id, unpack(standing))}
    else
        -- Stopped or cancelled meanwhile, or there is no channel any more.
        leave_broadcast(KEYS[2], ARGV[3], ARGV[4], id, 'cancelled', string.format('%.0f', now))
        cancelled = cancelled + 1
    end
end
-- Behind a push without a state nobody is asked: what waits before that is the state that it leaves.
local function gives_way()
    local first = alive[1] and alive[1][2]
    for i = 2, first and first[1] == '1' and #alive or 0 do
        if takes_place(alive[i][2], first) then return true end
        if alive[i][2][3] == '1' then return false end
    end
    return false
end
while gives_way() do
    leave_broadcast(KEYS[2], ARGV[3], ARGV[4], alive[1][1], 'superseded', string.format('%.0f', now))
    table.remove(alive, 1)
    superseded = superseded + 1
end
if #alive == 0 then return {'idle', superseded, cancelled} end
if channel[1] ~= 'live' then return {'wait', superseded, cancelled, 500} end

local id, isSupersedable = alive[1][1], alive[1][2][1] == '1'
local left = tonumber(channel[4] or 0) - now
if isSupersedable and channel[7] then left = math.max(left, channel[7] + ARGV[6] - now) end
if left > 0 then return {'wait', superseded, cancelled, left} end
local epoch = tonumber(lease[1] or 0) + 1
redis.call('HSET', KEYS[3], 'b:e', epoch, 'b:o', ARGV[1], 'b:d', string.format('%.0f', now + ARGV[2]))
redis.call('PEXPIRE', KEYS[3], ARGV[5])
return {'send', superseded, cancelled, epoch, id, channel[2], channel[3],
    channel[5] == id and tonumber(channel[6]) or 0, redis.call('HGETALL', ARGV[3] .. id)}
