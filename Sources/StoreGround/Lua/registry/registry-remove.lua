-- Untracks a channel: its record becomes a tombstone (shared-record), which refuses older registrations.
-- uses removals, buckets, latest, handed
-- key b: root of the name, hash
-- keys bucket, n: the channel's bucket, the name's meta, hashes
-- key y: channels whose card began after an `end` was accepted, as in registry-set
-- argument knownCount: the count that the bucket was computed from
-- argument channel: channel, stored form
-- argument stone: tombstone with the time of the removal and the hash of the activity's id (zeros = any), floor 0
-- arguments now, latest: ms since 2020, by the caller's clock. A stored time after the latter lies ahead (shared-latest)
-- argument life: ms that the bucket lives from now
-- argument threshold: fields beyond which a bucket should be split
-- Returns 0: the registration stays (removal older or of another activity). 1: removed. 2: removed, bucket too full. 17:
--   removed, and the channel followed the name until then.
--   {right count}: the caller's count is outdated. Nothing was done.
local count = redis.call('HGET', b, 'n') or '1'
if count ~= knownCount then return {count} end
take_back(n, redis.call('HGET', n, 'handed'))

latest = latest_believed(now, latest)
local value, answer = stone, 1
local removed, id = action_time(stone), id_hash(stone)
local old = redis.call('HGET', bucket, channel)
if is_registration(old) then
    local registered, held = action_time(old), id_hash(old)
    if is_older(removed, registered, latest) then return 0 end
    local removals, third = with_removal(removals_after(old, registered, latest), id, removed)
    if not differ(id, held) then
        value, answer = tombstone(removals, math.max(registered, third)), 17
    else
        -- Note the removal in the record: the other activity's registration may still arrive.
        value, answer = with_removals(old, removals), 0
        if removed == registered or value == old then return 0 end
    end
elseif is_tombstone(old) then
    local floor, isPruned = floor_time(old), has_flag(old, PRUNED)
    local removals, third = with_removal(removals_after(old, floor, latest), id, removed)
    floor = math.max(floor, third)
    if not isPruned or removed >= dead_since(old) and not differ(id, activity_of(old)) then
        -- A repeated prune still gets the answer `pruned`.
        value = tombstone(removals, floor, isPruned or has_flag(old, NOTED))
    else
        value = with_floor(string.sub(old, 1, 15) .. activity_of(old), time_bytes(floor)) .. removals_text(removals, 1)
    end
    if is_older(removed, floor, latest) or value == old then return 1 end
end

local added = redis.call('HSET', bucket, channel, value)
if answer > 0 then redis.call('ZREM', y, channel) end
renew(b, bucket, life)
if added == 1 and redis.call('HLEN', bucket) > tonumber(threshold) then return 2 end
return answer
