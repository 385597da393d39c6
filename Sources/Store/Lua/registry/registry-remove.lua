-- Untracks a channel: its record becomes a tombstone, which refuses older registrations that arrive late. Records and
-- tombstones: shared-record.
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

local value = ARGV[3]
local answer = 1
local old = redis.call('HGET', KEYS[2], ARGV[2])
local noted = old and has_flag(old, NOTED)
if is_registration(old) then
    local removed, id, held = action_time(value), id_hash(value), id_hash(old)
    if removed < action_time(old) then return 0 end
    if id == held or id == NO_ID or held == NO_ID then
        if noted and noted_time(old) > removed then
            value = tombstone(noted_bytes(old), noted_id(old), action_bytes(value))
        else
            value = with_floor(value, noted and noted_bytes(old) or action_bytes(old))
        end
    else
        -- The removal is of another activity. Note it in the record, because that activity's registration may still
        -- arrive. The newest removal is kept.
        if removed == action_time(old) or (noted and noted_time(old) >= removed) then return 0 end
        value = with_note(old, id, action_bytes(value))
        answer = 0
    end
elseif is_tombstone(old) then
    local removed, dead, floor = action_time(value), action_time(old), floor_time(old)
    local pruned = has_flag(old, PRUNED)
    local same = not pruned and id_hash(value) == id_hash(old)
    if removed >= dead then
        value = with_floor(value, (same or dead < floor) and floor_bytes(old) or action_bytes(old))
        -- A repeated prune still gets the answer `pruned`.
        if pruned or noted then value = string.char(TOMBSTONE + NOTED) .. string.sub(value, 2) end
    elseif not same and removed > floor then
        value = with_floor(old, action_bytes(value))
    else
        return 1
    end
end

local added = redis.call('HSET', KEYS[2], ARGV[2], value)
if answer == 1 then redis.call('ZREM', KEYS[3], ARGV[2]) end
renew(KEYS[1], KEYS[2], ARGV[4])
if added == 1 and redis.call('HLEN', KEYS[2]) > tonumber(ARGV[5]) then return 2 end
return answer
