-- Takes a lease on one shard of a push, or on the catch-up behind its shards ('c').
-- KEYS  1 p  2 w  3 r (waiting channels by due ms)  4 o (removals owed)  5 q
-- ARGV  1 shard  2 owner  3 lease ms  4 most lapses in a row without progress
-- Returns {'gone'}: no such push any more.
--         {'done', unswept pushes of the name, the name's first due ms or '', removals owed, catch-up waits 0|1}: the part is
--         finished (or, for the catch-up, the shards are not).
--         {'held', ms left}: another owner's lease is live.
--         {'claimed', epoch, position, ahead, record, removals that other pushes owe, poison 0|1}: poison, when so many
--         owners in a row died or fell asleep over it.
local record = redis.call('HGETALL', KEYS[1])
if #record == 0 then return {'gone'} end
local s = ARGV[1]
local task = redis.call('HMGET', KEYS[2], s .. ':e', s .. ':d', s .. ':p', s .. ':a', s .. ':f', s .. ':o', s .. ':c', 'left', 'owed')
local owed = redis.call('HLEN', KEYS[4])
local expanded = redis.call('HGET', KEYS[1], 'expanded') == '1'
local tail = not expanded and task[8] == '0'
local finished = expanded or task[5]
if s == 'c' then finished = not tail end
if finished then
    local first = redis.call('ZRANGE', KEYS[3], 0, 0, 'WITHSCORES')[2] or ''
    return {'done', redis.call('ZCARD', KEYS[5]), first, owed, tail and 1 or 0}
end
local now = redis_now()
if task[2] and tonumber(task[2]) > now then return {'held', tonumber(task[2]) - now} end
local epoch, lapses = tonumber(task[1] or 0) + 1, tonumber(task[7] or 0)
-- A lease that was given back has no owner.
if task[6] and task[6] ~= '' then lapses = lapses + 1 end
redis.call('HSET', KEYS[2], s .. ':e', epoch, s .. ':o', ARGV[2], s .. ':d', string.format('%.0f', now + ARGV[3]), s .. ':c', lapses)
local position, ahead = task[3] or '0', task[4] or ''
if s == 'c' then
    -- Its pages are numbered anew by each owner.
    position, ahead = '0', ''
    redis.call('HDEL', KEYS[2], 'c:p', 'c:a')
end
if redis.call('PTTL', KEYS[2]) < 0 then redis.call('PEXPIRE', KEYS[2], math.max(redis.call('PTTL', KEYS[1]), 1)) end
return {'claimed', epoch, position, ahead, record, owed - tonumber(task[9] or 0), lapses > tonumber(ARGV[4]) and 1 or 0}
