-- Fragment for push-begin: the least time between a name's updates, for pushes that are not alone.
-- uses pacing-left

local function can_all_be_superseded(q, prefix)
    for _, id in ipairs(redis.call('ZRANGE', q, 0, -1)) do
        if type(redis.pcall('HGET', prefix .. id, 'sup')) ~= 'string' then return false end
    end
    return true
end

-- Returns for how long an update has to wait, ms. 0: it begins.
-- n: name meta. q: unswept pushes. prefix: of the p keys. push: the update's fields. lastSeq: the name's last sequence
-- number
local function pace(n, q, prefix, push, paced, lastSeq, interval, now)
    local left = pacing_left(paced, push.seq, tonumber(push['until']) or math.huge, interval, now)
    if not left then return 0 end
    -- If a push that cannot be superseded is queued behind this update, do not pace: the order would delay it too.
    if left > 0 and can_all_be_superseded(q, prefix) then return left end
    redis.call('HSET', n, 'paced', string.format('%.0f %s', now, lastSeq))
    return 0
end
