-- Writes down what became of a broadcast, and gives the lease back. Repeating it is answered as stale.
-- KEYS  1 bc  2 bt  3 l
-- ARGV  1 epoch  2 owner  3 push id  4 outcome: delivered | failed | expired, or 'again'  5 channel id  6 status or ''
--       7 reason or ''  8 due ms of another attempt  9 1: the channel may have got it without our knowing
--       10 the p keys' common prefix  11 the w keys'
-- Returns 1, or 0 when the lease is another's: nothing was written.
local lease = redis.call('HMGET', KEYS[3], 'b:e', 'b:o')
if lease[1] ~= ARGV[1] or lease[2] ~= ARGV[2] then return 0 end
local now = string.format('%.0f', redis_now())
redis.call('HSET', KEYS[3], 'b:o', '', 'b:d', now)
local id, p = ARGV[3], ARGV[10] .. ARGV[3]
local isThere = redis.call('EXISTS', KEYS[1]) == 1
if isThere then redis.call('HSET', KEYS[1], 'sent', now) end
if redis.call('EXISTS', p) == 1 then
    redis.call('HSET', p, 'bc:channel', ARGV[5], 'bc:status', ARGV[6], 'bc:reason', ARGV[7])
    redis.call('HINCRBY', p, 'bc:tries', 1)
    if ARGV[9] == '1' then redis.call('HINCRBY', p, 'duplicates', 1) end
end
if ARGV[4] == 'again' then
    if isThere then
        local before = redis.call('HMGET', KEYS[1], 'tried', 'tries')
        local tries = before[1] == id and tonumber(before[2]) or 0
        redis.call('HSET', KEYS[1], 'due', ARGV[8], 'tried', id, 'tries', tries + 1)
    end
else
    if isThere then redis.call('HDEL', KEYS[1], 'due', 'tried', 'tries') end
    leave_broadcast(KEYS[2], ARGV[10], ARGV[11], id, ARGV[4], now)
end
return 1
