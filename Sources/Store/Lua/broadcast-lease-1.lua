-- One process at a time makes and deletes an app's channels.
-- KEYS  1 bcl (lease and intent, hash)
-- ARGV  1 owner  2 lease ms
-- Returns {'held', ms left} or {'claimed', epoch, intended name, its channel id}: the last two are '' unless whoever had the
--         lease before died over a creation; the id is '' if it is not known whether there is a channel.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local known = redis.call('HMGET', KEYS[1], 'o', 'd', 'name', 'id')
local ends = tonumber(known[2] or '0')
if ends > now then return {'held', ends - now} end
local epoch = redis.call('HINCRBY', KEYS[1], 'e', 1)
redis.call('HSET', KEYS[1], 'o', ARGV[1], 'd', string.format('%.0f', now + ARGV[2]))
return {'claimed', epoch, known[3] or '', known[4] or ''}
