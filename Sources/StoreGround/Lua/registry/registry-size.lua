-- Gives a name of one bucket its number of buckets at once, so that an imported or restored name need not grow step by
-- step. The tokens that it has go to their buckets.
-- uses tally
-- key b: root of the name, hash. The numbers of its other buckets are found by the channels.
-- arguments newCount, hashKey: as in registry-split
-- arguments number, modulus: number of buckets; twice the largest power of two <= number
-- argument life: ms that a new root lives from now
-- Returns 1, or 0: the name has several buckets. Nothing was done.
-- A crash after it leaves a name of small or empty buckets, which grows and expires as any other.
if redis.call('HEXISTS', b, 'n') == 1 then return 0 end
number, modulus = tonumber(number), tonumber(modulus)
local all, buckets = redis.call('HGETALL', b), {}
for i = 1, #all, 2 do
    local hash = tonumber(string.sub(redis.sha1hex(hashKey .. all[i]), 1, 8), 16)
    local index = hash % modulus
    if index >= number then index = hash % (modulus / 2) end
    local bucket = index == 0 and b or b .. ':' .. string.format('%.0f', index)
    local list = buckets[bucket] or {}
    list[#list + 1], list[#list + 2] = all[i], all[i + 1]
    buckets[bucket] = list
end

-- The count is the root's first field, found at once.
local ttl = redis.call('PTTL', b)
redis.call('UNLINK', b)
redis.call('HSET', b, 'n', newCount)
redis.call('PEXPIRE', b, ttl > 0 and ttl or life)
for bucket, list in pairs(buckets) do
    call_with_list('HSET', bucket, list)
    if ttl > 0 then redis.call('PEXPIRE', bucket, ttl) end
end
return 1
