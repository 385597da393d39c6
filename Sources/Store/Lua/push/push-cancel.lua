-- Cancels the unsent part of a push. Pages in flight settle normally. A worker sees the state at its next page.
-- KEYS[1] q: the name's unswept pushes, zset
-- KEYS[2] p: this push, hash
-- KEYS[3] w: its tasks, hash
-- ARGV[1] push id
-- ARGV[2] time of the cancellation, ms; '' = Redis's own time
-- Returns 0: no such push. 1: the push was final already. 2: cancelled before it began. 3: cancelled during its sweep.
-- Keys found in data: docs/keyspace.md.
-- Atomic.
local state = redis.call('HGET', KEYS[2], 'state')
if not state then return 0 end
if state ~= 'queued' and state ~= 'sending' then return 1 end
local now = ARGV[2] ~= '' and ARGV[2] or string.format('%.0f', redis_now())
end_push(KEYS[2], KEYS[3], 'cancelled', now)
if state == 'queued' then
    redis.call('ZREM', KEYS[1], ARGV[1])
    redis.call('HSET', KEYS[2], 'expanded', 1)
end
finish(KEYS[2], KEYS[3], now)
return state == 'sending' and 3 or 2
