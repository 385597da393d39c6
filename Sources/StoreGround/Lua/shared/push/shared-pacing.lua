-- Fragment for push-begin: the least time between a name's updates.
-- uses since

local function can_all_be_superseded(q, prefix)
    for _, id in ipairs(redis.call('ZRANGE', q, 0, -1)) do
        if type(redis.pcall('HGET', prefix .. id, 'sup')) ~= 'string' then return false end
    end
    return true
end

-- Returns for how long an update has to wait, ms. 0: it begins, and an interval with it.
-- n: name meta. q: unswept pushes. prefix: of the p keys. push: the update's fields. interval: ms
-- paced: when the last interval began (ms), and the name's last sequence number then. lastSeq: that number now
local function pace(n, q, prefix, push, paced, lastSeq, interval, now)
    local at, before = string.match(paced or '', '^(%d+) (%d+)$')
    -- Older pushes (for other audiences) do not wait, so that an interval has one sweep for each audience.
    if at and tonumber(push.seq) <= tonumber(before) then return 0 end
    local left = at and interval - since(tonumber(at), now) or 0
    -- Pacing must not delay an update past its deadline.
    local deadline = tonumber(push['until']) or math.huge
    if deadline > now and deadline <= now + left then left = 0 end
    -- If a push that cannot be superseded is queued behind this update, do not pace: the order would delay it too.
    if left > 0 and can_all_be_superseded(q, prefix) then return left end
    redis.call('HSET', n, 'paced', string.format('%.0f %s', now, lastSeq))
    return 0
end
