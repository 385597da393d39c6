-- Removes dead tokens from a bucket if their channels still have them. Tombstones (shared-record) make it repeatable.
-- uses removals, latest, handed
-- key b: root of the name, hash
-- keys bucket, n: the channels' bucket, the name's meta, hashes
-- key y: channels whose card began after an `end` was accepted, as in registry-set
-- argument knownCount: the count that the bucket was computed from
-- arguments now, latest: ms since 2020, by the caller's clock. A stored time after the latter lies ahead (shared-latest)
-- rest: fours:
--   channel, stored form
--   the dead token
--   the time when APNs knew it to be dead, ms since 2020: only an older registration is pruned; '' = any
--   1: its activity ended then. The token always goes, and only a registration after both times brings it back. 2: its
--   card ended, and the token is the same for each card of the channel (PushToken.ofChannel). So the time is that of the
--   registration of the card, and a later registration stays.
-- Returns a digit for each: 0 gone (not tracked, or removed), 1 pruned now or before, 2 newer (token or registration)
--   {right count}: the caller's count is outdated. Nothing was done.
local count = redis.call('HGET', b, 'n') or '1'
if count ~= knownCount then return {count} end
take_back(n, redis.call('HGET', n, 'handed'))

latest = latest_believed(now, latest)
local function prune(channel, token, since, ended)
    local old = redis.call('HGET', bucket, channel)
    if not old then return '0' end
    if not has_flag(old, TOMBSTONE) then
        if not is_registration(old) then return '0' end
        if token_of(old) ~= token then return '2' end
        local registered = action_time(old)
        if ended == '2' and is_older(since, registered, latest) then return '2' end
        if ended ~= '0' then
            since = math.max(since or 0, math.min(registered, latest))
        elseif since and is_older(since - 1, registered, latest) then
            return '2'
        end
        local stone = tombstone_of_prune(since, tonumber(now), old)
        local removals = has_flag(old, NOTED) and removals_after(old, registered, latest) or {}
        redis.call('HSET', bucket, channel, stone .. removals_text(removals, 1))
        redis.call('ZREM', y, channel)
        return '1'
    end
    if has_flag(old, PRUNED) and is_tombstone(old) then
        -- The token's hash is in the id's place.
        if id_hash(old) ~= token_hash(token) then return '2' end
        if since and since > dead_since(old) then
            local flags = string.char(bit.band(string.byte(old), bit.bnot(UNDATED)))
            redis.call('HSET', bucket, channel, flags .. time_bytes(since) .. string.sub(old, 7))
        end
        return '1'
    end
    -- The token was removed, and with NOTED it had been pruned before.
    return has_flag(old, NOTED) and '1' or '0'
end

local answers = {}
for i = rest, #ARGV, 4 do
    answers[#answers + 1] = prune(ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2]), ARGV[i + 3])
end
return table.concat(answers)
