-- Adds one bucket to a name (linear hashing): moves the upper half of src to dst and raises the count in one step. So a
-- caller that reads count and buckets together sees each record exactly once. Expired records are dropped on the way.
--
-- KEYS[1] b: root; field n as in registry-set
-- KEYS[2] the bucket found too full; nothing is split if it is not too full any more
-- KEYS[3] src: the bucket that is split next; may be the root, or KEYS[2]
-- KEYS[4] dst: the new bucket; its index is the present count
-- ARGV[1] the present count as in n; `1` for an absent one
-- ARGV[2] the new count, with the fingerprint of the hash key
-- ARGV[3] index of dst
-- ARGV[4] modulus: twice the largest power of two <= the present count
-- ARGV[5] the hash key
-- ARGV[6] fields beyond which a bucket is too full
-- ARGV[7] now, ms since 2020
-- ARGV[8] ms from an activity's start to the end of a registration's life
-- ARGV[9] ms that a tombstone is kept
-- Returns 1: split. 0: not needed. {right count}: the caller's count is outdated, and nothing was done.
-- Atomic.
local count = redis.call('HGET', KEYS[1], 'n') or '1'
if count ~= ARGV[1] then return {count} end
local threshold, now, life, kept = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9])

local function is_over(value)
    if #value < 10 then return true end
    if has_flag(value, TOMBSTONE) then return action_time(value) + kept < now end
    return start_of(value) + life < now
end
-- Lua's stack bounds the number of arguments of one call.
local function in_parts(command, key, list)
    for first = 1, #list, 500 do
        redis.call(command, key, unpack(list, first, math.min(first + 499, #list)))
    end
end

if KEYS[2] ~= KEYS[3] then
    local all, over = redis.call('HGETALL', KEYS[2]), {}
    for i = 1, #all, 2 do
        if all[i] ~= 'n' and is_over(all[i + 1]) then over[#over + 1] = all[i] end
    end
    in_parts('HDEL', KEYS[2], over)
    if #all / 2 - #over <= threshold then return 0 end
end

local modulus, dst = tonumber(ARGV[4]), tonumber(ARGV[3])
local all, over, stay, move = redis.call('HGETALL', KEYS[3]), {}, {}, {}
for i = 1, #all, 2 do
    local channel, value = all[i], all[i + 1]
    if channel == 'n' then
        -- The count is written anew below.
    elseif is_over(value) then
        over[#over + 1] = channel
    else
        local hash = tonumber(string.sub(redis.sha1hex(ARGV[5] .. channel), 1, 8), 16)
        local list = hash % modulus == dst and move or stay
        list[#list + 1] = channel
        list[#list + 1] = value
    end
end
local living = (#stay + #move) / 2
-- Do not split if the bucket is not too full any more, or if the bucket to be split is nearly empty: that would not
-- help.
if (KEYS[2] == KEYS[3] and living <= threshold) or living < threshold / 8 then
    in_parts('HDEL', KEYS[3], over)
    return 0
end

-- Write the hash anew: a hash that outgrew the compact encoding returns to it only so. The count stays the root's first
-- field, where Redis finds it at once.
local ttl = redis.call('PTTL', KEYS[3])
redis.call('UNLINK', KEYS[3], KEYS[4])
redis.call('HSET', KEYS[1], 'n', ARGV[2])
in_parts('HSET', KEYS[3], stay)
in_parts('HSET', KEYS[4], move)
if ttl > 0 then
    redis.call('PEXPIRE', KEYS[3], ttl)
    redis.call('PEXPIRE', KEYS[4], ttl)
end
return 1
