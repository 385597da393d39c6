-- Confirms removals that were applied to the registry, or that a quarantine prevents. Each is counted once.
-- uses time, queue, endings
-- key o: pending removals, hash
-- key n: name meta, hash
-- key x: quarantine, hash
-- key h: retry queues, hash
-- key r: waiting channels, zset by due time (ms)
-- arguments ps, ws, prs: common prefixes of the p, w and pr keys
-- argument markLife: life of the quarantine's marks, ms
-- arguments mostPruned, retention: most pruned channels that are kept of a push, and for how long, ms
-- rest: threes: field of o, outcome to count for its push, and the mark that quarantines the token; '' = not
--   quarantined, '-' = quarantined where the token is registered
-- Returns {due ms of the name's first waiting channel or '', then for each three 1 confirmed or 0 not pending, ids of the
--   pushes that became final}
-- Keys found in data: docs/keyspace.md.
-- n's `cut` counts retry queues released after an `end`. If it changed since the page, a sweep reads the page again.
local now = string.format('%.0f', redis_now())
-- The channel is behind the push id (16 bytes) and the channel's length (2 bytes).
local function channel_of(field)
    return string.sub(field, 19, 18 + string.byte(field, 17) * 256 + string.byte(field, 18))
end
-- APNs's reason is behind the kind (1 byte), the time (8) and, for a start token, the attributes type.
local function reason_of(value)
    if string.sub(value, 1, 1) ~= 's' then return string.sub(value, 10) end
    return string.sub(value, 11 + (string.byte(value, 10) or 0))
end

-- Keeps the first pruned channels of a push, for whoever asks who they were.
local room = {}
local function keep_pruned(id, channel, reason)
    local pr = prs .. id_text(id)
    room[pr] = room[pr] or tonumber(mostPruned) - redis.call('HLEN', pr)
    if room[pr] <= 0 then return end
    room[pr] = room[pr] - redis.call('HSET', pr, channel, reason)
    redis.call('PEXPIRE', pr, retention)
end

-- Pushes whose first device is noted.
local reached = {}
local answer = {''}
for i = rest, #ARGV, 3 do
    local field, outcome, mark = ARGV[i], ARGV[i + 1], ARGV[i + 2]
    local value = redis.call('HGET', o, field)
    if value then
        redis.call('HDEL', o, field)
        local id = string.sub(field, 1, 16)
        local p, w = ps .. id_text(id), ws .. id_text(id)
        if redis.call('EXISTS', p) == 1 then
            redis.call('HINCRBY', p, outcome, 1)
            -- The platform is behind the kind. That of code 0 has no counts of its own.
            local platform = string.byte(value, 2) or 0
            if platform > 0 then redis.call('HINCRBY', p, outcome .. '@' .. platform, 1) end
            if mark ~= '' then redis.call('HINCRBY', p, 'e:Quarantined', 1) end
            redis.call('HINCRBY', w, 'owed', -1)
            if outcome == 'pruned' then keep_pruned(id, channel_of(field), reason_of(value)) end
            local state = finish(p, w, now)
            if outcome == 'delivered' and state == 'sending' and not reached[p] then
                reached[p] = redis.call('HSETNX', p, 'first', now)
            end
        end
        if mark ~= '' and mark ~= '-' then
            redis.call('HSET', x, channel_of(field), mark)
            redis.call('PEXPIRE', x, markLife)
        end
        if string.sub(value, 1, 1) == 'e' and #field > 18 then
            local channel = channel_of(field)
            local queue = redis.call('HGET', h, channel)
            if end_delivered(queue) then
                redis.call('HINCRBY', n, 'cut', 1)
                pop(h, r, channel, queue, now)
            end
        end
    end
    answer[#answer + 1] = value and 1 or 0
end
answer[1] = first_due(r)
answer[#answer + 1] = table.concat(finalPushes, ' ')
return answer
