-- Gives a push the second under which platforms get it whose devices order a name's states by seconds (docs/android.md):
-- each sent push has a later one than the pushes before it.
-- uses time
-- key s: the seconds of the newest pushes, zset by second
-- key n: name meta; field `card` has the type that a push told last, for devices that have lost their card, and `lost`
--   the latest second of their starts (registry-set)
-- argument id: of the push, 16 bytes
-- argument timestamp: of its acceptance, s
-- argument ahead: by how many seconds it may be ahead of the clock, at most 60; 0 for an update that a newer one may
--   supersede
-- argument life: how long the seconds are kept, ms
-- argument card: the type that the push tells; '' = none
-- Returns {second, 0, type}, or {0, ms, type}: the push has to wait that long. '' = no push has told a type.
-- Repeatable: a push keeps its second. If the worker dies after this call, the next owner of the push gets it again.
local KEPT, MOST_AHEAD = 64, 60
local known = redis.call('ZSCORE', s, id)
local told, lost = unpack(redis.call('HMGET', n, 'card', 'lost'))
if card == '' then
    card = told or ''
elseif not known then
    redis.call('HSET', n, 'card', card)
end
if known then return {tonumber(known), 0, card} end
local last = redis.call('ZREVRANGE', s, 0, 0, 'WITHSCORES')[2]
local second = tonumber(timestamp)
if last and second <= tonumber(last) then
    second = last + 1
    -- No second is given farther ahead than this. One that is was given before the clock was set back: then pushes go on
    -- behind it, and do not wait until the clock is there again.
    local left = (second - tonumber(ahead)) * 1000 - redis_now()
    if left > 0 and left <= (MOST_AHEAD + 1) * 1000 then return {0, math.ceil(left), card} end
end
-- Devices that have lost their card may have a start of this second. Many may lose theirs one after the other, so nothing
-- waits for it: it is a second ahead of the clock at most.
if lost and second <= tonumber(lost) then second = lost + 1 end
redis.call('ZADD', s, second, id)
redis.call('ZREMRANGEBYRANK', s, 0, -KEPT - 1)
redis.call('PEXPIRE', s, life)
return {second, 0, card}
