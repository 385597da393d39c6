-- Brings times of a timer forward after the clock was set back, page by page.
-- key timer: zset by time (ms)
-- argument now: the caller's time, ms. Earlier entries stay
-- argument by: how far the clock was set back, ms
-- argument from: '' for the first page, then the answer of the page before
-- argument most: entries of a page
-- Returns the time from which the next page begins; '' if there is none.
-- A repeated call brings entries forward once more: workers look at them too early, and put them off again.
local found = redis.call('ZRANGEBYSCORE', timer, from == '' and '(' .. now or from, '+inf', 'WITHSCORES', 'LIMIT', 0, most)
for i = 1, #found, 2 do
    redis.call('ZADD', timer, 'XX', string.format('%.0f', math.max(tonumber(now), found[i + 1] - by)), found[i])
end
return #found == 2 * most and found[#found] or ''
