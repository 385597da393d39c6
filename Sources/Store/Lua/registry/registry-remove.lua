-- Untracks a channel: its record becomes a tombstone (shared-record), which refuses older registrations.
-- key b: root of the name, hash
-- key bucket: the channel's bucket, hash
-- key y: channels whose card began after an `end` was accepted, as in registry-set
-- argument knownCount: the count that the bucket was computed from
-- argument channel: channel, stored form
-- argument stone: tombstone with the time of the removal and the hash of the activity's id (zeros = any), floor 0
-- argument latest: ms since 2020; a stored time after it lies ahead, because the clock was set back
-- argument life: ms that the bucket lives from now
-- argument threshold: fields beyond which a bucket should be split
-- Returns 0: the registration stays (removal older or of another activity). 1: removed. 2: removed, bucket too full.
--   {right count}: the caller's count is outdated. Nothing was done.
local count = redis.call('HGET', b, 'n') or '1'
if count ~= knownCount then return {count} end

latest = tonumber(latest)
local value, answer = stone, 1
local old = redis.call('HGET', bucket, channel)
local noted = old and has_flag(old, NOTED)
if is_registration(old) then
    local removed, id, held = action_time(value), id_hash(value), id_hash(old)
    if is_older(removed, action_time(old), latest) then return 0 end
    if id == held or id == NO_ID or held == NO_ID then
        if noted and is_older(removed, noted_time(old), latest) then
            value = tombstone(noted_bytes(old), noted_id(old), action_bytes(value))
        else
            value = with_floor(value, noted and noted_bytes(old) or action_bytes(old))
        end
    else
        -- Note the newest removal of another activity in the record: that activity's registration may still arrive.
        if removed == action_time(old) or noted and is_older(removed - 1, noted_time(old), latest) then return 0 end
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

local added = redis.call('HSET', bucket, channel, value)
if answer == 1 then redis.call('ZREM', y, channel) end
renew(b, bucket, life)
if added == 1 and redis.call('HLEN', bucket) > tonumber(threshold) then return 2 end
return answer
