-- Takes dead tokens out of one bucket, each if its channel still has that very token. Repeatable: the tombstone answers for it.
-- Records and tombstones: Store/RegistryRecord.swift.
--
-- KEYS[1] root of the name, KEYS[2] the channel's bucket, KEYS[3] who began to follow after an `end`, as KEYS[6] in registry-set
-- ARGV[1] the count the bucket was computed from, then fours:
--   channel, stored form
--   the dead token
--   when APNs knew it dead, ms since 2020 (only a registration from before is pruned); empty = whenever registered
--   1: its activity ended then; it is taken out whenever it was registered, and not taken back in but by a registration
--   later than both
-- Returns a digit for each: 0 gone (not tracked, or removed), 1 pruned, now or before, 2 newer (another token, or registered
-- since); or {the right count}: nothing was done.
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
    -- Removed; marked: after it had been pruned.
    return marked and '1' or '0'
end

local answers = {}
for i = 2, #ARGV, 4 do
    answers[#answers + 1] = prune(ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2]), ARGV[i + 3] == '1')
end
return table.concat(answers)
