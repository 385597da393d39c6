-- Counts receipts of devices for one push: each device once for each event.
-- uses time, lone, kept
-- keys n, p: name meta; push, whose fields `r:shown`, `r:ended` and `r:dismissed` are the counts; hashes
-- key pk: the block of kept records to which the push belongs, hash. A kept record has the counts too.
-- keys shown, ended, dismissed: which devices were counted: up to `most` fingerprints in a row, then a HyperLogLog
-- argument at: time of the receipts, ms; '' = Redis's own time
-- argument most: up to this number a count is exact
-- argument window: for how long after its acceptance the push counts receipts, ms
-- rest: first letter of the event and fingerprint of the device, which has the same length in all calls
-- Returns 'ok', 'late', or 'unknown': there is no such push.
-- A call that is repeated after a lost answer finds the fingerprints, and changes nothing.
most = tonumber(most)
local created = tonumber(redis.call('HGET', p, 'created'))
local flags, counts
local _, raw = kept_place(p)
local kept = not created and raw and redis.call('HGET', pk, raw)
if kept then flags, _, created = kept_head(raw, kept) end
if not created then
    unpack_lone(n)
    created = tonumber(redis.call('HGET', p, 'created'))
end
if not created then return 'unknown' end
local life = created + window - (tonumber(at) or redis_now())
if life <= 0 then return 'late' end

local function has(known, device)
    local found = string.find(known, device, 1, true)
    while found and found % #device ~= 1 do found = string.find(known, device, found + 1, true) end
    return found
end

-- The devices, each once, that `known` does not have.
local function unknown_of(devices, known)
    local unknown, seen = {}, {}
    for _, device in ipairs(devices) do
        if not seen[device] and not has(known, device) then unknown[#unknown + 1] = device end
        seen[device] = true
    end
    return unknown
end

local function count(event, key, devices)
    if #devices == 0 then return end
    local before, after = counts and counts[event] or tonumber(redis.call('HGET', p, 'r:' .. event)) or 0, nil
    if before <= most then
        local known = redis.call('GET', key) or ''
        devices = unknown_of(devices, known)
        if #devices == 0 then return end
        if before + #devices <= most then
            after = before + #devices
            redis.call('APPEND', key, table.concat(devices))
        else
            redis.call('DEL', key)
            local size = #devices[1]
            for i = 1, #known, size do devices[#devices + 1] = string.sub(known, i, i + size - 1) end
        end
    end
    if not after then
        if redis.call('PFADD', key, unpack(devices)) == 0 then return end
        -- An estimate may be a little less than what was counted before.
        after = math.max(before, most + 1, redis.call('PFCOUNT', key))
    end
    if counts then counts[event], counts.hasChanged = after, true else redis.call('HSET', p, 'r:' .. event, after) end
    redis.call('PEXPIRE', key, string.format('%.0f', life))
end

-- Counts of a kept record are written together, at the end.
local first, last
if flags then
    first, last = kept_receipts(flags)
    counts = {shown = 0, ended = 0, dismissed = 0}
    if first < last then
        counts.shown, counts.ended, counts.dismissed = struct.unpack('>I2I2I2', kept, first + 1)
    end
end

local devices = {s = {}, e = {}, d = {}}
for i = rest, #ARGV do
    local list = devices[string.sub(ARGV[i], 1, 1)]
    list[#list + 1] = string.sub(ARGV[i], 2)
end
count('shown', shown, devices.s)
count('ended', ended, devices.e)
count('dismissed', dismissed, devices.d)
if counts and counts.hasChanged then
    if math.max(counts.shown, counts.ended, counts.dismissed) < 65536 then
        local marked = bit.bor(flags, KEPT_RECEIPTS)
        redis.call('HSET', pk, raw, struct.pack('>I2', marked) .. string.sub(kept, 3, first)
            .. struct.pack('>I2I2I2', counts.shown, counts.ended, counts.dismissed) .. string.sub(kept, last + 1))
    elseif unpack_kept(p) then
        for event, number in pairs({shown = counts.shown, ended = counts.ended, dismissed = counts.dismissed}) do
            if number > 0 then redis.call('HSET', p, 'r:' .. event, number) end
        end
    end
end
return 'ok'
