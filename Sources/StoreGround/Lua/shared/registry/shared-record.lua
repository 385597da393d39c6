-- Fragment for records and tombstones of a name (layout and flags: Buckets/RegistryRecord.swift). Positions from 1:
--   1 flags, 2-6 time of the action, 7 age, 8-10 hash of the activity's id. Then a record has: with NOTED a removal of
--   another activity, with TWICE a second one, with AHEAD 2 bytes until its start, the token.
--   A tombstone has the floor in 11-15. With PRUNED it has the token's hash in 8-10 and the id's in 16-18. Then come
--   removals of other activities. A removal has 8 bytes: hash of the id 3, time 5 (shared-removals).
-- uses constants
local NO_ID = '\0\0\0'

local function has_flag(value, flag) return bit.band(string.byte(value) or 0, flag) ~= 0 end

-- Reads five bytes as a number. A comparison of strings would follow the server's locale.
local function time_at(value, at)
    local a, b, c, d, e = string.byte(value, at, at + 4)
    return (((a * 256 + b) * 256 + c) * 256 + d) * 256 + e
end
local function action_time(value) return time_at(value, 2) end
-- Whether an action of the time `at` is older than a stored one. A stored time after `latest` lies ahead: it was stored
-- before the clock was set back, and makes no action old.
local function is_older(at, stored, latest) return at < stored and stored <= latest end
local function time_bytes(t)
    local low = t % 4294967296
    return string.char(math.floor(t / 4294967296) % 256, math.floor(low / 16777216), math.floor(low / 65536) % 256,
        math.floor(low / 256) % 256, low % 256)
end
local function id_hash(value) return string.sub(value, 8, 10) end

-- Where a record's removals of other activities end.
local function removals_end(value)
    return 10 + (has_flag(value, NOTED) and REMOVAL_BYTES or 0) + (has_flag(value, TWICE) and REMOVAL_BYTES or 0)
end
local function token_at(value) return removals_end(value) + 1 + (has_flag(value, AHEAD) and 2 or 0) end
local function token_of(value) return string.sub(value, token_at(value)) end
local function token_hash(token)
    local digest = redis.sha1hex(token)
    return string.char(tonumber(digest:sub(1, 2), 16), tonumber(digest:sub(3, 4), 16), tonumber(digest:sub(5, 6), 16))
end

-- Also false for a value that is too short, which another program wrote.
local function is_registration(value)
    return value and not has_flag(value, TOMBSTONE) and #value >= token_at(value)
end
local function is_tombstone(value) return value and has_flag(value, TOMBSTONE) and #value >= 15 end

-- When a record's activity started or will start, on the clock of the record (ms since 2020).
local function start_of(value)
    if not has_flag(value, AHEAD) then return action_time(value) - string.byte(value, 7) * AGE_UNIT end
    local high, low = string.byte(value, token_at(value) - 2, token_at(value) - 1)
    return action_time(value) + ((high or 0) * 256 + (low or 0)) * AGE_UNIT
end

local function floor_time(stone) return time_at(stone, 11) end
-- Registrations from before the floor are refused for every activity.
local function with_floor(stone, floor) return string.sub(stone, 1, 10) .. floor .. string.sub(stone, 16) end

-- The hash of the activity's id in a tombstone, zeros if it had none.
local function activity_of(stone)
    if not has_flag(stone, PRUNED) then return id_hash(stone) end
    return #stone >= 18 and string.sub(stone, 16, 18) or NO_ID
end

-- since: when APNs knew the token to be dead; nil: it named no time, so the stone has that of the prune, `now`
local function tombstone_of_prune(since, now, record)
    local floor = action_time(record)
    return string.char(TOMBSTONE + PRUNED + (since and 0 or UNDATED)) .. time_bytes(since or math.max(floor, now)) .. '\0'
        .. token_hash(token_of(record)) .. string.sub(record, 2, 6) .. id_hash(record)
end
-- The same token must be registered later than this.
local function dead_since(stone) return has_flag(stone, UNDATED) and floor_time(stone) or action_time(stone) end
