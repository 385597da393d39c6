-- Claims the right to make and delete an app's broadcast channels. One worker at a time has it.
-- KEYS[1] bcl: lease and intent, hash
-- ARGV[1] owner
-- ARGV[2] lease, ms
-- Returns {'held', ms left}: another worker has the lease.
--   {'claimed', epoch, intended name, its broadcast channel id}: name and id are '' unless the owner before died while
--     it made a channel. The id alone is '' if the channel may not exist.
-- Atomic.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local known = redis.call('HMGET', KEYS[1], 'o', 'd', 'name', 'id')
local ends = tonumber(known[2] or '0')
if ends > now then return {'held', ends - now} end
local epoch = redis.call('HINCRBY', KEYS[1], 'e', 1)
redis.call('HSET', KEYS[1], 'o', ARGV[1], 'd', string.format('%.0f', now + ARGV[2]))
return {'claimed', epoch, known[3] or '', known[4] or ''}
