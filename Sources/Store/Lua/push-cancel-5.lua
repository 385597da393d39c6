-- Cancels what is unsent of a push. Pages in flight settle as they would; a worker sees the state at its next page.
-- KEYS  1 n  2 q  3 p  4 r  5 w
-- ARGV  1 push id  2 '' for Redis's own time, or ms
-- Returns 0: no such push.  1: final before.  2: cancelled before it was taken up.  3: cancelled while sending.
local state = redis.call('HGET', KEYS[3], 'state')
if not state then return 0 end
if state ~= 'queued' and state ~= 'sending' then return 1 end
local now = ARGV[2]
if now == '' then
    local time = redis.call('TIME')
    now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
end
redis.call('HSET', KEYS[3], 'state', 'cancelled', 'finished', now)
local waiting = redis.call('ZCARD', KEYS[4])
if waiting > 0 then
    redis.call('HINCRBY', KEYS[3], 'skipped', waiting)
    redis.call('DEL', KEYS[4])
end
if state == 'sending' then return 3 end
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('HSET', KEYS[3], 'expanded', 1)
return 2
