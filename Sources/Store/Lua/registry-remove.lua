-- Untracks a channel: its record becomes a tombstone, which refuses older registrations that arrive late. Records and
-- tombstones: Store/RegistryRecord.swift.
--
-- KEYS[1] b: root of the name, hash
-- KEYS[2] the channel's bucket, hash
-- KEYS[3] y: channels whose card began after an `end` was accepted, as KEYS[6] of registry-set
-- ARGV[1] the count that the bucket was computed from
-- ARGV[2] channel, stored form
-- ARGV[3] tombstone with the time of the removal and the hash of the activity's id (zeros = any), floor 0
-- ARGV[4] ms that the bucket lives from now
-- ARGV[5] fields beyond which a bucket should be split
-- Returns 0: the removal is older, or of another activity, and the registration stays. 1: removed. 2: removed, and the
--   bucket is too full.
--   {right count}: the caller's count is outdated. Nothing was done.
-- Atomic.
local count = redis.call('HGET', KEYS[1], 'n') or '1'
if count ~= ARGV[1] then return {count} end

-- Returns `stone` with another floor: registrations from before the floor are refused for every activity.
local function with_floor(stone, floor) return string.sub(stone, 1, 10) .. floor .. string.sub(stone, 16) end

local value = ARGV[3]
local answer = 1
local old = redis.call('HGET', KEYS[2], ARGV[2])
local flags = old and string.byte(old) or 0
local noted = bit.band(flags, 8) ~= 0
if old and bit.band(flags, 1) == 0 and #old >= token_at(old) then
    local removed, id, held = time(value, 2), string.sub(value, 8, 10), string.sub(old, 8, 10)
    if removed < time(old, 2) then return 0 end
    if id == held or id == '\0\0\0' or held == '\0\0\0' then
        local floor = string.sub(old, 2, 6)
        if noted and time(old, 14) > removed then
            floor = string.sub(value, 2, 6)
            value = '\1' .. string.sub(old, 14, 18) .. '\0' .. string.sub(old, 11, 13)
        elseif noted then
            floor = string.sub(old, 14, 18)
        end
        value = with_floor(value, floor)
    else
        -- The removal is of another activity. Note it in the record, because that activity's registration may still
        -- arrive. The newest removal is kept.
        if removed == time(old, 2) or (noted and time(old, 14) >= removed) then return 0 end
        value = string.char(bit.bor(flags, 8)) .. string.sub(old, 2, 10) .. id .. string.sub(value, 2, 6)
            .. string.sub(old, noted and 19 or 11)
        answer = 0
    end
elseif old and bit.band(flags, 1) == 1 and #old >= 15 then
    local removed, dead, floor = time(value, 2), time(old, 2), time(old, 11)
    local pruned = bit.band(flags, 4) ~= 0
    local same = not pruned and string.sub(value, 8, 10) == string.sub(old, 8, 10)
    if removed >= dead then
        if same or dead < floor then
            value = with_floor(value, string.sub(old, 11, 15))
        else
            value = with_floor(value, string.sub(old, 2, 6))
        end
        -- A repeated prune still gets the answer `pruned`.
        if pruned or noted then value = '\9' .. string.sub(value, 2) end
    elseif not same and removed > floor then
        value = with_floor(old, string.sub(value, 2, 6))
    else
        return 1
    end
end

local added = redis.call('HSET', KEYS[2], ARGV[2], value)
if answer == 1 then redis.call('ZREM', KEYS[3], ARGV[2]) end
renew(KEYS[1], KEYS[2], ARGV[4])
if added == 1 and redis.call('HLEN', KEYS[2]) > tonumber(ARGV[5]) then return 2 end
return answer
