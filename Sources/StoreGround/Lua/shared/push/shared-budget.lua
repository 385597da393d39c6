-- Fragment for push-begin: the budget of updates at priority 10.

-- Counts an update that begins at priority 10. Returns who gets 5 instead: 'all', 'slow' (no frequent updates) or nil.
-- n: name meta. Its `budget` says when the hour began with its first update at priority 10 (ms), and how many of them
-- went out since. push: the fields of its record; `soft` 1: it may go out at priority 5. most, mostSlow: 0 = any number
local function spend(n, push, most, mostSlow, now)
    -- A resumed push was counted when it began for the first time.
    if most + mostSlow == 0 or push.prio ~= '10' or push.event ~= 'update' or push.resumed then return nil end
    local at, count = string.match(redis.call('HGET', n, 'budget') or '', '^(%d+) (%d+)$')
    if not at or since(tonumber(at), now) >= BUDGET_WINDOW then at, count = string.format('%.0f', now), '0' end
    count = tonumber(count)
    local demote, isSoft = nil, push.soft == '1'
    if isSoft and most > 0 and count >= most then
        demote = 'all'
    elseif isSoft and mostSlow > 0 and count >= mostSlow then
        demote = 'slow'
    end
    if demote ~= 'all' then count = count + 1 end
    redis.call('HSET', n, 'budget', string.format('%s %d', at, count))
    return demote
end
