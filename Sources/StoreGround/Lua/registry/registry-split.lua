-- Adds one bucket to a name (linear hashing): moves the upper half of src to dst and raises the count in one step. So a
-- caller that reads count and buckets together sees each record exactly once. Expired records are dropped on the way.
-- uses record, tally
-- key b: root; field n as in registry-set
-- key full: the bucket found too full; nothing is split if it is not too full any more
-- key src: the bucket that is split next; may be the root, or full
-- key dst: the new bucket; its index is the present count
-- argument knownCount: the present count as in n; `1` for an absent one
-- argument newCount: the new count, with the fingerprint of the hash key
-- argument dstIndex: index of dst
-- argument modulus: twice the largest power of two <= the present count
-- argument hashKey: the hash key
-- argument threshold: fields beyond which a bucket is too full
-- argument now: the caller's time, ms since 2020
-- argument life: ms from an activity's start to the end of a registration's life
-- argument kept: ms that a tombstone is kept
-- Returns 1: split. 0: not needed. {right count}: the caller's count is outdated, and nothing was done.
local count = redis.call('HGET', b, 'n') or '1'
if count ~= knownCount then return {count} end
threshold, now, life, kept = tonumber(threshold), tonumber(now), tonumber(life), tonumber(kept)

local function is_over(value)
    if #value < 10 then return true end
    if has_flag(value, TOMBSTONE) then return action_time(value) + kept < now end
    return start_of(value) + life < now
end

if full ~= src then
    local all, over = redis.call('HGETALL', full), {}
    for i = 1, #all, 2 do if all[i] ~= 'n' and is_over(all[i + 1]) then over[#over + 1] = all[i] end end
    call_with_list('HDEL', full, over)
    if #all / 2 - #over <= threshold then return 0 end
end

modulus, dstIndex = tonumber(modulus), tonumber(dstIndex)
local all, over, stay, move = redis.call('HGETALL', src), {}, {}, {}
for i = 1, #all, 2 do
    local channel, value = all[i], all[i + 1]
    if channel == 'n' then
        -- The count is written anew below.
    elseif is_over(value) then
        over[#over + 1] = channel
    else
        local hash = tonumber(string.sub(redis.sha1hex(hashKey .. channel), 1, 8), 16)
        local list = hash % modulus == dstIndex and move or stay
        list[#list + 1] = channel
        list[#list + 1] = value
    end
end
local living = (#stay + #move) / 2
-- Do not split if the bucket is no longer too full, or if the one to split is nearly empty.
if (full == src and living <= threshold) or living < threshold / 8 then
    call_with_list('HDEL', src, over)
    return 0
end

-- Write the hash anew, to return it to the compact encoding, and the count as the root's first field, found at once.
local ttl = redis.call('PTTL', src)
redis.call('UNLINK', src, dst)
redis.call('HSET', b, 'n', newCount)
call_with_list('HSET', src, stay)
call_with_list('HSET', dst, move)
if ttl > 0 then
    redis.call('PEXPIRE', src, ttl)
    redis.call('PEXPIRE', dst, ttl)
end
return 1
