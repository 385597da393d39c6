-- Fragment for push-begin: the budget of updates at priority 10.
-- uses constants, since

-- Counts an update that begins at priority 10. Returns 'all' if everybody gets it at 5 instead, else nil.
-- n: name meta. Its `budget` says when the hour began with its first update at priority 10 (ms), and how many of them
-- went out since. push: the fields of its record; `soft` 1: it may go out at priority 5. most: 0 = any number
local function spend(n, push, most, now)
    -- A resumed push was counted when it began for the first time.
    if most == 0 or push.prio ~= '10' or push.event ~= 'update' or push.resumed then return nil end
    local at, count = string.match(redis.call('HGET', n, 'budget') or '', '^(%d+) (%d+)$')
    if not at or since(tonumber(at), now) >= BUDGET_WINDOW then at, count = string.format('%.0f', now), '0' end
    count = tonumber(count)
    local demote = push.soft == '1' and count >= most and 'all' or nil
    if not demote then count = count + 1 end
    redis.call('HSET', n, 'budget', string.format('%s %d', at, count))
    return demote
end
