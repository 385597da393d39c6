-- Puts registrations and tombstones of a backup (shared-record) into a bucket, unless it has something newer or as new of
-- the channel. To repeat the call changes nothing. A backup is history: nobody is made a late joiner or a new follower.
-- uses lone, buckets, registration, newcomers
-- key b: root of the name, hash
-- key bucket: the channels' bucket, hash
-- keys n, h, k: name meta, retry queues, catch-up, as in registry-set
-- argument knownCount: the count that the bucket was computed from
-- argument life: ms that the bucket lives from now
-- argument threshold: fields beyond which a bucket should be split
-- rest: twos: channel in its stored form, record or tombstone
-- Returns a digit for each: 0 kept what is there, 1 stored, 2 a registration of the backup that was removed since. Behind
-- them + if the bucket is too full.
--   {right count}: the caller's count is outdated. Nothing was done.
local count = redis.call('HGET', b, 'n') or '1'
if count ~= knownCount then return {count} end
local sent, handed = unpack(redis.call('HMGET', n, 'sent', 'handed'))
if sent or handed then unpack_lone(n) end
local catch = redis.call('HGET', n, 'catch')

-- Returns the record that a tombstone of the backup leaves of a registration. Nil: the registration stays as it is.
local function removed(old, stone)
    local at, registered = dead_since(stone), action_time(old)
    if at < registered then return nil end
    if has_flag(stone, PRUNED) then
        -- The token's hash is in the id's place.
        return id_hash(stone) == token_hash(token_of(old)) and stone or nil
    end
    local all, third, isTaken = removals_after(old, registered, math.huge), 0, false
    for _, removal in ipairs(removals_after(stone, registered - 1, math.huge)) do
        local takesIt = not differ(removal.id, id_hash(old))
        if takesIt or removal.at > registered then
            local over
            all, over = with_removal(all, removal.id, removal.at)
            third, isTaken = math.max(third, over), isTaken or takesIt
        end
    end
    if isTaken then return tombstone(all, math.max(registered, third)) end
    return with_removals(old, all)
end

-- Returns what is to be stored, whether it has a token that is new here, and whether it only notes a stale registration.
local function merged(old, value)
    if not (is_registration(old) or is_tombstone(old)) then return value, is_registration(value) end
    if is_tombstone(value) then
        if is_registration(old) then return removed(old, value) end
        return action_time(old) < action_time(value) and value or nil
    end
    if action_time(old) == action_time(value) then return nil end
    local verdict = compare_with_stored(old, value, false, math.huge)
    return verdict.record, not verdict.isStale and verdict.isNew, verdict.isStale
end

local answers, hasChanged = {}, false
for i = rest, #ARGV, 2 do
    local channel, value = ARGV[i], ARGV[i + 1]
    local old = redis.call('HGET', bucket, channel)
    local record, isToken, isStale
    if old ~= value then record, isToken, isStale = merged(old, value) end
    if record and record ~= old then
        redis.call('HSET', bucket, channel, record)
        hasChanged = true
        -- A sweep that runs may have read the bucket already.
        if isToken and catch then note_token(h, k, n, channel, catch, life) end
    else
        isStale = true
    end
    local isRemoved = isStale and is_registration(value) and is_tombstone(record or old)
    answers[#answers + 1] = isRemoved and '2' or isStale and '0' or '1'
end
if hasChanged then
    renew(b, bucket, life)
    if redis.call('HLEN', bucket) > tonumber(threshold) then answers[#answers + 1] = '+' end
end
return table.concat(answers)
