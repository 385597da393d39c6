-- Confirms removals that were applied to the registry, or that a quarantine prevents. Each is counted once.
-- key o: pending removals, hash
-- key n: name meta, hash
-- key x: quarantine, hash
-- key h: retry queues, hash
-- key r: waiting channels, zset by due time (ms)
-- arguments ps, ws: common prefixes of the p and w keys
-- argument markLife: life of the quarantine's marks, ms
-- rest: threes: field of o, outcome to count for its push, and the mark that quarantines the token; '' = not
--   quarantined, '-' = quarantined where the token is registered
-- Returns {due ms of the name's first waiting channel or '', then for each three 1 confirmed or 0 not pending}
-- Keys found in data: docs/keyspace.md.
-- n's `cut` counts retry queues released after an `end`. If it changed since the page, a sweep reads the page again.
local now = string.format('%.0f', redis_now())
-- The channel is behind the push id (16 bytes) and the channel's length (2 bytes).
local function channel_of(field)
    return string.sub(field, 19, 18 + string.byte(field, 17) * 256 + string.byte(field, 18))
end
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
            if mark ~= '' then redis.call('HINCRBY', p, 'e:Quarantined', 1) end
            redis.call('HINCRBY', w, 'owed', -1)
            finish(p, w, now)
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
return answer
