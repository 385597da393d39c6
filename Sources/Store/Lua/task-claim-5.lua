-- Takes a lease on one shard of a push, or on its retries (shard 'r').
-- KEYS  1 p  2 w  3 r (retries, zset by due ms)  4 o (prunes owed, hash)  5 q
-- ARGV  1 shard  2 owner  3 lease ms
-- Returns {'gone'}: no such push any more.
--         {'done', unswept pushes of the name, retries' first due ms or '', prunes owed}: the shard is finished.
--         {'held', ms left}: another owner's lease is live.
--         {'claimed', epoch, position, ahead, record}
local record = redis.call('HGETALL', KEYS[1])
if #record == 0 then return {'gone'} end
local s = ARGV[1]
local task = redis.call('HMGET', KEYS[2], s .. ':e', s .. ':d', s .. ':p', s .. ':a', s .. ':f')
local owed = redis.call('HLEN', KEYS[4])
local first = redis.call('ZRANGE', KEYS[3], 0, 0, 'WITHSCORES')[2] or ''
local finished = task[5] or redis.call('HGET', KEYS[1], 'expanded') == '1'
if s == 'r' then finished = first == '' end
if finished then return {'done', redis.call('ZCARD', KEYS[5]), first, owed} end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if task[2] and tonumber(task[2]) > now then return {'held', tonumber(task[2]) - now} end
local epoch = tonumber(task[1] or '0') + 1
redis.call('HSET', KEYS[2], s .. ':e', epoch, s .. ':o', ARGV[2], s .. ':d', string.format('%.0f', now + ARGV[3]))
if redis.call('PTTL', KEYS[2]) < 0 then redis.call('PEXPIRE', KEYS[2], math.max(redis.call('PTTL', KEYS[1]), 1)) end
return {'claimed', epoch, task[3] or '0', task[4] or '', record}
