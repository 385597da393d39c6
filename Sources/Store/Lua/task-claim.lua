-- Claims one shard of a push, or the catch-up behind its shards.
-- KEYS[1] p: the push, hash
-- KEYS[2] w: its tasks, hash
-- KEYS[3] r: waiting channels, zset by due time (ms)
-- KEYS[4] o: pending removals, hash
-- KEYS[5] q: the name's unswept pushes, zset
-- ARGV[1] shard, or 'c' for the catch-up
-- ARGV[2] owner
-- ARGV[3] lease, ms
-- ARGV[4] most lapses in a row without progress
-- Returns {'gone'}: no such push.
--   {'done', unswept pushes of the name, due ms of its first waiting channel or '', pending removals, catch-up waits
--     0|1}: the part is finished. For the catch-up also if the shards are not finished.
--   {'held', ms left}: another owner has a live lease.
--   {'claimed', epoch, position, ahead, record, pending removals of other pushes, poison 0|1}: poison 1 if more than
--     ARGV[4] owners in a row crashed or stalled.
-- Atomic.
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
-- A lease that was given back has no owner, so this is no lapse.
if task[6] and task[6] ~= '' then lapses = lapses + 1 end
redis.call('HSET', KEYS[2], s .. ':e', epoch, s .. ':o', ARGV[2], s .. ':d', string.format('%.0f', now + ARGV[3]), s .. ':c', lapses)
local position, ahead = task[3] or '0', task[4] or ''
if s == 'c' then
    -- Each owner of the catch-up numbers its pages anew.
    position, ahead = '0', ''
    redis.call('HDEL', KEYS[2], 'c:p', 'c:a')
end
if redis.call('PTTL', KEYS[2]) < 0 then redis.call('PEXPIRE', KEYS[2], math.max(redis.call('PTTL', KEYS[1]), 1)) end
return {'claimed', epoch, position, ahead, record, owed - tonumber(task[9] or 0), lapses > tonumber(ARGV[4]) and 1 or 0}
