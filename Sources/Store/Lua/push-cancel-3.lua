-- Cancels what is unsent of a push. Pages in flight settle as they would; a worker sees the state at its next page.
-- KEYS  1 q  2 p  3 w
-- ARGV  1 push id  2 '' for Redis's own time, or ms
-- Returns 0: no such push.  1: final before.  2: cancelled before it was taken up.  3: cancelled while sending.
local state = redis.call('HGET', KEYS[2], 'state')
if not state then return 0 end
if state ~= 'queued' and state ~= 'sending' then return 1 end
local now = ARGV[2] ~= '' and ARGV[2] or string.format('%.0f', redis_now())
stop(KEYS[2], KEYS[3], 'cancelled', now)
if state == 'queued' then
    redis.call('ZREM', KEYS[1], ARGV[1])
    redis.call('HSET', KEYS[2], 'expanded', 1)
end
finish(KEYS[2], KEYS[3], now)
return state == 'sending' and 3 or 2
