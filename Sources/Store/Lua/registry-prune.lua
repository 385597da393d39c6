-- Removes dead tokens from one bucket, each only if its channel still has that token. Repeatable, because the tombstone
-- shows what was pruned. Records and tombstones: Store/RegistryRecord.swift.
--
-- KEYS[1] b: root of the name, hash
-- KEYS[2] the channels' bucket, hash
-- KEYS[3] y: channels whose card began after an `end` was accepted, as KEYS[6] of registry-set
-- ARGV[1] the count that the bucket was computed from
-- ARGV[2 ...] fours:
--   channel, stored form
--   the dead token
--   the time when APNs knew it to be dead, ms since 2020: only an older registration is pruned; '' = any
--   1: its activity ended at that time. The token is removed whenever it was registered. Only a registration later than
--     both times brings it back.
-- Returns a digit for each: 0 gone (not tracked, or removed), 1 pruned now or before, 2 newer (another token, or
--   registered since)
--   {right count}: the caller's count is outdated. Nothing was done.
-- Atomic.
local count = redis.call('HGET', KEYS[1], 'n') or '1'
if count ~= ARGV[1] then return {count} end

local function time_bytes(t)
    local low = t % 4294967296
    return string.char(math.floor(t / 4294967296) % 256, math.floor(low / 16777216), math.floor(low / 65536) % 256,
        math.floor(low / 256) % 256, low % 256)
end
local function token_hash(token)
    local digest = redis.sha1hex(token)
    return string.char(tonumber(digest:sub(1, 2), 16), tonumber(digest:sub(3, 4), 16), tonumber(digest:sub(5, 6), 16))
end

local function prune(channel, token, since, ended)
    local old = redis.call('HGET', KEYS[2], channel)
    if not old then return '0' end
    local flags = string.byte(old) or 0
    local marked = bit.band(flags, 8) ~= 0
    if bit.band(flags, 1) == 0 then
        if #old < token_at(old) then return '0' end
        if string.sub(old, token_at(old)) ~= token then return '2' end
        local registered = time(old, 2)
        if ended then
            since = math.max(since or 0, registered)
        elseif since and registered >= since then
            return '2'
        end
        redis.call('HSET', KEYS[2], channel,
            '\5' .. time_bytes(since or registered) .. '\0' .. token_hash(token) .. string.sub(old, 2, 6)
                .. string.sub(old, 8, 10))
        redis.call('ZREM', KEYS[3], channel)
        return '1'
    end
    if bit.band(flags, 4) ~= 0 and #old >= 15 then
        if string.sub(old, 8, 10) ~= token_hash(token) then return '2' end
        if since and since > time(old, 2) then
            redis.call('HSET', KEYS[2], channel, string.sub(old, 1, 1) .. time_bytes(since) .. string.sub(old, 7))
        end
        return '1'
    end
    -- The token was removed. `marked`: it had been pruned before.
    return marked and '1' or '0'
end

local answers = {}
for i = 2, #ARGV, 4 do
    answers[#answers + 1] = prune(ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2]), ARGV[i + 3] == '1')
end
return table.concat(answers)
