-- Fragment that Lua.swift puts before scripts that change a name's buckets. Layout of a record:
-- Store/RegistryRecord.swift.

-- Reads five bytes as a number. A comparison of strings would follow the server's locale.
local function time(value, at)
    local a, b, c, d, e = string.byte(value, at, at + 4)
    return (((a * 256 + b) * 256 + c) * 256 + d) * 256 + e
end

-- Where a record's token begins. Flag 8 puts another activity's removal before the token (8 bytes). Flag 4 puts the
-- time until the activity's start there (2 bytes).
local function token_at(value)
    local flags = string.byte(value) or 0
    return 11 + (bit.band(flags, 8) ~= 0 and 8 or 0) + (bit.band(flags, 4) ~= 0 and 2 or 0)
end

-- The hash of the activity's id in a tombstone, zeros if it had none. A prune's tombstone has the token's hash in that
-- place and the id's hash after the floor.
local function activity_of(stone)
    if bit.band(string.byte(stone), 4) == 0 then return string.sub(stone, 8, 10) end
    return #stone >= 18 and string.sub(stone, 16, 18) or '\0\0\0'
end

-- When a record's activity started or will start, on the clock of the record (ms since 2020). Ages are in units of two
-- minutes.
local function start_of(value)
    if bit.band(string.byte(value), 4) == 0 then return time(value, 2) - string.byte(value, 7) * 120000 end
    local high, low = string.byte(value, token_at(value) - 2, token_at(value) - 1)
    return time(value, 2) + (high * 256 + low) * 120000
end

-- Renews a bucket's life (ms). The root holds the count, so it must not expire before any bucket. A longer life of the
-- root stays, because another bucket may hold an activity that starts in days. Five minutes of slack save a busy bucket
-- most renewals.
local function renew(root, bucket, life)
    life = tonumber(life)
    if redis.call('PTTL', bucket) < life - 300000 then
        redis.call('PEXPIRE', bucket, string.format('%.0f', life))
        if redis.call('PTTL', root) < life then redis.call('PEXPIRE', root, string.format('%.0f', life)) end
    end
end

